//! One library that may be tried, and why.

use std::path::{Path, PathBuf};

/// A file to try, and the reason for trying it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The file. Without a `/` it is a soname, found by the dynamic linker's own search.
    pub file: PathBuf,
    /// The reason for trying it, in words that a person understands: "$RANKS_MPI", "the prefix of
    /// mpiexec".
    pub why: String,
}

impl Candidate {
    /// A candidate from a file name or path and a reason.
    pub fn new(file: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Candidate {
            file: file.into(),
            why: why.into(),
        }
    }

    /// Returns `true` if the dynamic linker looks for it, as opposed to a path that names one file.
    pub fn is_soname(&self) -> bool {
        self.file.parent() == Some(Path::new(""))
    }
}
