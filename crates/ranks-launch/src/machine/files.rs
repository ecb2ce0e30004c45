//! Small files, as the kernel has many, and folders.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// More bytes than any such file has.
const MOST: u64 = 16 << 20;

/// The text of a file, if it can be read. A variable may name any: a pipe would be waited for, and
/// a device read without end.
pub(crate) fn read(path: &Path) -> Option<String> {
    let file = fs::metadata(path).ok().filter(fs::Metadata::is_file);
    let mut text = String::new();
    let mut file = file.and_then(|_| File::open(path).ok())?.take(MOST);
    file.read_to_string(&mut text).ok()?;
    Some(text)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of nodes at such a place was read until there was no memory.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_has_no_end_is_not_read() {
        assert_eq!(read(Path::new("/dev/zero")), None);
        assert_eq!(read(Path::new("/proc")), None);
        assert!(read(Path::new("/proc/self/status")).is_some());
    }
}
