//! Small files, as the kernel has many.

use std::fs;
use std::path::Path;

/// The text of a file without the blanks around it.
pub(crate) fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
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
