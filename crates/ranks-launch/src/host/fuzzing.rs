//! The parsers of the kernel's text, as fuzz targets see them.

use std::path::PathBuf;

use super::groups::{self, Version};

/// The sum of lines of `memory.stat`.
pub fn statistics(text: &str, names: &[&str]) -> u64 {
    groups::sum_of(text, names)
}

/// The control group of a process, of each version of the kernel's interface.
pub fn membership<'a>(text: &'a str, controller: &str) -> [Option<&'a str>; 2] {
    [Version::One, Version::Two].map(|version| groups::membership(text, version, controller))
}

/// The folders of a group and of those that it is part of, of each version.
pub fn mounts(text: &str, controller: &str, group: &str) -> [Option<Vec<PathBuf>>; 2] {
    [Version::One, Version::Two]
        .map(|version| Some(groups::mount(text, version, controller)?.chain(group)))
}
