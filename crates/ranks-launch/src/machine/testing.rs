//! Trees of files in the place of those that a kernel shows.

use std::fs;
use std::path::{Path, PathBuf};

/// A folder that goes with the value.
pub(crate) struct Tree(PathBuf);

impl Tree {
    pub(crate) fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("ranks-host-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        Tree(root)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.0
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
