//! Memory of a file without a name, which the ranks of a node map each for itself: on Linux.

use std::path::Path;

#[cfg(not(target_os = "linux"))]
#[path = "mapping/elsewhere.rs"]
mod system;
#[cfg(target_os = "linux")]
#[path = "mapping/linux.rs"]
mod system;

pub(super) use system::Mapping;

const OPERATION: &str = "NodeShared";

/// Storage of a file without a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nameless<'a> {
    /// In memory.
    Memory,
    /// On the file system of a folder.
    In(&'a Path),
}
