//! Systems without signals, on which no jobs are started.

use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicI32;

pub(in crate::run) fn signal(_: ExitStatus) -> Option<i32> {
    None
}

pub(in crate::run) fn name(_: i32) -> Option<&'static str> {
    None
}

pub(in crate::run) fn hang_up() {}

pub(crate) fn end_by(_: i32) -> io::Result<()> {
    Ok(())
}

/// A number that stays 0.
pub(crate) fn watch_signals() -> io::Result<Arc<AtomicI32>> {
    Ok(Arc::default())
}

/// Makes a folder, not if there is one.
pub(in crate::run) fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir(folder)
}
