//! The release that a library is, and those that brought functions.

use std::fmt;

use crate::generated::table::FUNCTIONS;

/// A release of NVSHMEM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(
    clippy::exhaustive_structs,
    reason = "the library says these three numbers"
)]
pub struct Version {
    /// 3 in 3.4.5.
    pub major: i32,
    /// 4 in 3.4.5.
    pub minor: i32,
    /// 5 in 3.4.5.
    pub patch: i32,
}

impl Version {
    /// The first release of a minor version.
    pub const fn new(major: i32, minor: i32) -> Self {
        Version {
            major,
            minor,
            patch: 0,
        }
    }

    /// From text as [`since`] gives it.
    pub(crate) fn of(text: &str) -> Option<Version> {
        let (major, minor) = text.split_once('.')?;
        Some(Version::new(major.parse().ok()?, minor.parse().ok()?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The release that brought a function, `"3.7"` for `"nvshmemx_flush"` (`"3.1"` stands for that or
/// any before); `None` for a name that is not in the [`Table`](crate::Table).
pub fn since(function: &str) -> Option<&'static str> {
    let found = FUNCTIONS.iter().find(|(name, _)| *name == function);
    found.map(|(_, since)| *since)
}

/// The names of all functions of the [`Table`](crate::Table), in alphabetical order.
pub fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_ordered_and_spelt() {
        let release = Version {
            major: 3,
            minor: 4,
            patch: 5,
        };
        assert_eq!(release.to_string(), "3.4.5");
        assert!(Version::new(3, 4) < release && release < Version::new(3, 10));
        assert_eq!(Version::of("3.10"), Some(Version::new(3, 10)));
        assert_eq!(Version::of("three"), None);
    }

    #[test]
    fn each_function_has_a_release() {
        assert_eq!(since("nvshmemx_flush"), Some("3.7"));
        assert_eq!(since("nvshmemx_team_init"), Some("3.3"));
        assert_eq!(since("nvshmem_malloc"), Some("3.1"));
        assert_eq!(since("nvshmem_init"), None);
        for (name, release) in FUNCTIONS {
            assert!(Version::of(release).is_some(), "{name}: {release}");
        }
    }

    #[test]
    fn what_no_library_can_do_is_not_bound() {
        for name in functions() {
            assert!(!name.contains("_atomic_"), "{name}");
            assert!(!name.ends_with("_g_on_stream"), "{name}");
        }
        for name in ["nvshmemx_signal_op", "nvshmemx_init_attr"] {
            assert_eq!(since(name), None);
        }
    }
}
