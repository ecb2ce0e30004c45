//! Files and folders with the rights that the system gives them: those of the folder above.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a folder, and those above it, unless they are there.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Creates a file where there is none, and no link.
pub(super) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Returns `true`: the system asks whether this user may remove it.
pub(super) fn may_be_mine(_: &Metadata) -> bool {
    true
}
