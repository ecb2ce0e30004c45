//! A folder for the records of one job, gone when it is dropped.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A new folder, in the system's place for temporary files or elsewhere.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    #[cfg(test)]
    pub(crate) fn new() -> io::Result<Self> {
        Self::below(&std::env::temp_dir())
    }

    /// A new folder in another.
    pub(crate) fn below(parent: &Path) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("ranks-test-{}-{next}", std::process::id());
            let path = parent.join(name);
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Files that cannot be removed are left to the system, as all temporary files are.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
