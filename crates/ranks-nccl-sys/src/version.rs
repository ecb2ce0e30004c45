//! The releases that brought functions.

use crate::generated::table::FUNCTIONS;

/// The release that brought a function, `"2.27"` for `"ncclCommShrink"`; `None` for a name that is
/// not in the [`Table`](crate::Table).
pub fn since(function: &str) -> Option<&'static str> {
    let found = FUNCTIONS.iter().find(|(name, _)| *name == function);
    found.map(|(_, since)| *since)
}

/// The names of all functions of the [`Table`](crate::Table), in alphabetical order.
pub fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

/// A version code in words: `"2.32.3"` for 23203, as `ncclGetVersion` gives it.
pub fn version_text(code: i32) -> String {
    // Up to 2.8 there were two digits less for the major version.
    let (major, rest) = if code < 10_000 {
        (code / 1000, code % 1000)
    } else {
        (code / 10_000, code % 10_000)
    };
    format!("{major}.{}.{}", rest / 100, rest % 100)
}

/// The number of a release as [`since`] spells it, to compare.
pub(crate) fn number(release: &str) -> Option<u32> {
    let mut parts = release.split('.').map(|part| part.parse::<u32>().ok());
    let major = parts.next()??;
    let minor = parts.next()??;
    let patch = parts.next().unwrap_or(Some(0))?;
    Some(major * 10_000 + minor * 100 + patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_both_kinds_are_read() {
        assert_eq!(version_text(23_203), "2.32.3");
        assert_eq!(version_text(21_803), "2.18.3");
        assert_eq!(version_text(2_708), "2.7.8");
    }

    #[test]
    fn each_function_has_a_release() {
        assert_eq!(since("ncclCommShrink"), Some("2.27"));
        assert_eq!(since("ncclCommRevoke"), Some("2.28.7"));
        assert_eq!(since("ncclNothing"), None);
        for (name, release) in FUNCTIONS {
            assert!(number(release).is_some(), "{name}: {release}");
        }
        assert!(number("2.4") < number("2.14") && number("2.28") < number("2.28.7"));
    }
}
