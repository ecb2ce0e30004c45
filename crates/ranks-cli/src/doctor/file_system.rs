//! The size of a file system, where the system tells it.

use serde::Serialize;

#[cfg(not(unix))]
pub(super) use elsewhere::room;
#[cfg(unix)]
pub(super) use unix::room;

/// A file system.
#[derive(Debug, Serialize)]
pub(super) struct Room {
    pub(super) size: u64,
    pub(super) free: u64,
}

#[cfg(unix)]
mod unix {
    use std::path::Path;

    use nix::sys::statvfs::statvfs;

    use super::Room;

    /// Size and room of a file system, unless it has no limit.
    pub(in crate::doctor) fn room(folder: &Path) -> Option<Room> {
        let found = statvfs(folder).ok()?;
        let (all, free) = (wide(found.blocks()), wide(found.blocks_available()));
        let bytes = |blocks: u64| match all {
            0 => u64::MAX,
            _ => blocks.saturating_mul(found.fragment_size()),
        };
        Some(Room {
            size: bytes(all),
            free: bytes(free),
        })
    }

    /// Systems count blocks in integers of different widths.
    fn wide(blocks: impl Into<u64>) -> u64 {
        blocks.into()
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::path::Path;

    use super::Room;

    pub(in crate::doctor) fn room(_: &Path) -> Option<Room> {
        None
    }
}
