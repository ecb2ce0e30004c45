//! The parts of this crate's inside that fuzz targets see.

use std::path::PathBuf;

use crate::machine::control_groups::{self, Version};

pub use crate::job::fuzzing::{Told, told_apart, told_apart_in_pieces};

/// The parent that the bytes of `/proc/PID/stat` tell.
pub fn parent(stat: &[u8]) -> Option<u32> {
    crate::environment::ancestors::parent_in(stat)
}

/// The libraries that the text of a linker script names.
pub fn linker_script(text: &str) -> Option<Vec<PathBuf>> {
    Some(
        crate::library::linker_script::named(text)?
            .map(PathBuf::from)
            .collect(),
    )
}

/// The variables of these that belong to the job of this process.
pub fn inherited<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    crate::environment::launchers::inherited(names)
}

/// The sum of lines of `memory.stat`.
pub fn statistics(text: &str, names: &[&str]) -> u64 {
    control_groups::sum_of(text, names)
}

/// The control group of a process, of each version of the kernel's interface.
pub fn membership<'a>(text: &'a str, controller: &str) -> [Option<&'a str>; 2] {
    [Version::One, Version::Two]
        .map(|version| control_groups::membership(text, version, controller))
}

/// The folders of a group and of those that it is part of, of each version.
pub fn mounts(text: &str, controller: &str, group: &str) -> [Option<Vec<PathBuf>>; 2] {
    [Version::One, Version::Two]
        .map(|version| Some(control_groups::mount(text, version, controller)?.chain(group)))
}
