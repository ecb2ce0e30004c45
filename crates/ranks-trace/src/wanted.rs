//! The settings of observation, from the environment.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// The destination of the statistics of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Standard error.
    Screen,
    File(PathBuf),
}

/// The data that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// `RANKS_STATS`: `1` or a file.
    pub(crate) statistics: Option<Target>,
    /// `RANKS_TIMELINE`: a folder.
    pub(crate) timeline: Option<PathBuf>,
}

impl Wanted {
    pub(crate) fn of_environment() -> Self {
        Self::of(|name| env::var_os(name))
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let statistics = set("RANKS_STATS").and_then(|value| match value.to_str() {
            Some("0") => None,
            Some("1") => Some(Target::Screen),
            _ => Some(Target::File(value.into())),
        });
        Self {
            statistics,
            timeline: set("RANKS_TIMELINE").map(PathBuf::from),
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_the_screen_and_anything_else_is_a_file() {
        let statistics = |value: &str| {
            let value = OsString::from(value);
            Wanted::of(|name| (name == "RANKS_STATS").then(|| value.clone())).statistics
        };
        assert_eq!(statistics("1"), Some(Target::Screen));
        assert_eq!(statistics("0"), None);
        assert_eq!(statistics(""), None);
        let file = Target::File("stats.txt".into());
        assert_eq!(statistics("stats.txt"), Some(file));
        assert!(Wanted::of(|_| None).is_nothing());
        let folder = |name: &str| (name == "RANKS_TIMELINE").then(|| "there".into());
        assert_eq!(Wanted::of(folder).timeline, Some("there".into()));
    }
}
