//! Small files, as the kernel has many, and folders.

use std::fs;
use std::path::{Path, PathBuf};

/// The text of a file, if it can be read.
pub(crate) fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The text of a file without the blanks around it.
pub(crate) fn text(path: &Path) -> Option<String> {
    Some(read(path)?.trim().to_owned())
}

/// The paths of what lies in a folder, in order; none if it cannot be read.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if let Ok(entries) = fs::read_dir(folder) {
        for entry in entries.flatten() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    paths
}

/// The file behind the links of a path, if it is there.
pub(crate) fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// The number of the user that a file belongs to, where the system has such.
#[cfg(unix)]
pub(crate) fn owner(path: &Path) -> Option<u32> {
    Some(std::os::unix::fs::MetadataExt::uid(
        &fs::metadata(path).ok()?,
    ))
}

#[cfg(not(unix))]
pub(crate) fn owner(_: &Path) -> Option<u32> {
    None
}

/// The number of the device that a file lies on, where the system has such.
#[cfg(all(unix, feature = "hosts"))]
pub(crate) fn device(path: &Path) -> Option<u64> {
    Some(std::os::unix::fs::MetadataExt::dev(
        &fs::metadata(path).ok()?,
    ))
}

#[cfg(all(not(unix), feature = "hosts"))]
pub(crate) fn device(_: &Path) -> Option<u64> {
    None
}
