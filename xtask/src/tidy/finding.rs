//! Something that is against a rule: where, what, and what to do.

use std::fmt;

/// One finding.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) path: String,
    /// From 1; the whole file where it is 0.
    pub(super) line: usize,
    pub(super) what: String,
    pub(super) fix: String,
}

impl Finding {
    pub(super) fn new(
        path: &str,
        line: usize,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "    {}", self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}\n        {}", self.what, self.fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_the_line_and_the_remedy() {
        let finding = Finding::new("a.rs", 3, "too long", "split it");
        assert_eq!(
            finding.to_string(),
            "    a.rs:3: too long\n        split it"
        );
        assert_eq!(
            Finding::new("a.rs", 0, "x", "y").to_string(),
            "    a.rs: x\n        y"
        );
    }
}
