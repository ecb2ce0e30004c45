//! Counts in texts.

use std::fmt::{self, Display};

/// A count and its noun, in the number that goes with it: `1 rank`, `2 ranks`, `0 processes`.
#[derive(Debug, Clone, Copy)]
pub struct Count<'a, N = usize>(pub N, pub &'a str);

impl<N: Display> Display for Count<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, noun) = (self.0.to_string(), self.1);
        let ending = match &*count {
            "1" => "",
            _ if noun.ends_with('s') => "es",
            _ => "s",
        };
        write!(f, "{count} {noun}{ending}")
    }
}

#[cfg(test)]
mod tests {
    use super::Count;

    #[test]
    fn one_is_no_plural() {
        let texts = [(0, "byte"), (1, "byte"), (2, "process")];
        let texts = texts.map(|(count, noun)| Count(count, noun).to_string());
        assert_eq!(texts, ["0 bytes", "1 byte", "2 processes"]);
    }
}
