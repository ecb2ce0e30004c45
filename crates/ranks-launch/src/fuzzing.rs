//! The parts of this crate's inside that fuzz targets see.

use std::path::PathBuf;

pub use crate::host::fuzzing::{membership, mounts, statistics};
pub use crate::job::fuzzing::{Told, told_apart, told_apart_in_pieces};

/// The parent that the bytes of `/proc/PID/stat` tell.
pub fn parent(stat: &[u8]) -> Option<u32> {
    crate::ancestors::parent_in(stat)
}

/// The libraries that the text of a linker script names.
pub fn linker_script(text: &str) -> Option<Vec<PathBuf>> {
    Some(
        crate::linker_script::named(text)?
            .map(PathBuf::from)
            .collect(),
    )
}

/// The variables of these that belong to the job of this process.
pub fn inherited<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    crate::launchers::inherited(names)
}
