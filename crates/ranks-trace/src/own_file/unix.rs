//! Files and folders that are their user's alone, by the rights of Unix.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Makes a folder, and those above it, unless they are there.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Creates a file where there is none, and no link.
pub(super) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Returns `false` if the file is another user's. Where there is no `/proc` to tell who this user
/// is, the rights of the folder decide who may remove it.
pub(super) fn may_be_mine(there: &Metadata) -> bool {
    let me = fs::symlink_metadata("/proc/self").map(|me| me.uid());
    me.map_or(true, |me| me == there.uid())
}
