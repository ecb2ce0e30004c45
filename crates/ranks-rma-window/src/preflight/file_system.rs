//! Facts of the file system of a folder, where the system tells them.

#[cfg(not(unix))]
use elsewhere as system;
pub(super) use system::{device, free_in, is_writable};

#[cfg(unix)]
mod system {
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use nix::sys::statvfs::statvfs;
    use nix::unistd::{AccessFlags, access};

    /// Number of bytes that can be written to files of this folder, if there is a limit.
    pub(in crate::preflight) fn free_in(folder: &Path) -> Option<u64> {
        let found = statvfs(folder).ok()?;
        // A file system in memory without a limit has no blocks at all.
        let blocks = wide(found.blocks_available());
        (found.blocks() > 0).then(|| blocks.saturating_mul(found.fragment_size()))
    }

    /// Number of the device that a folder lies on.
    pub(in crate::preflight) fn device(folder: &Path) -> Option<u64> {
        Some(std::fs::metadata(folder).ok()?.dev())
    }

    pub(in crate::preflight) fn is_writable(folder: &Path) -> bool {
        access(folder, AccessFlags::W_OK).is_ok()
    }

    /// Systems count blocks in integers of different widths.
    fn wide(blocks: impl Into<u64>) -> u64 {
        blocks.into()
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::path::Path;

    pub(in crate::preflight) fn free_in(_: &Path) -> Option<u64> {
        None
    }

    pub(in crate::preflight) fn device(_: &Path) -> Option<u64> {
        None
    }

    pub(in crate::preflight) fn is_writable(_: &Path) -> bool {
        false
    }
}
