//! One library that may be tried, and why.

use std::env::var_os;
use std::path::{Path, PathBuf};

use crate::{Attempt, LoadError};

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

    /// The file or folder that an environment variable names, if it is set. `what` is as in
    /// [`Library::open`](crate::Library::open).
    ///
    /// # Errors
    /// [`LoadError`] for a relative path: ranks may start in folders of their own, and each would
    /// mean another file. A name without a `/` is the dynamic linker's to find.
    pub fn named_by(what: &'static str, variable: &str) -> Result<Option<Self>, LoadError> {
        let named = var_os(variable).filter(|value| !value.is_empty());
        let named = named.map(|file| Self::new(file, format!("${variable}")));
        named.map(|named| named.absolute(what)).transpose()
    }

    fn absolute(self, what: &'static str) -> Result<Self, LoadError> {
        let file = &self.file;
        if file.is_absolute() || !file.as_os_str().as_encoded_bytes().contains(&b'/') {
            return Ok(self);
        }
        let root = std::path::absolute(file).unwrap_or_else(|_| Path::new("/").join(file));
        let reason = format!(
            "it is relative, and leads elsewhere from each folder that a rank may start in; write it from the root: {}",
            root.display()
        );
        let candidate = self;
        Err(LoadError::new(what, vec![Attempt { candidate, reason }]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_is_refused() {
        let named = |file: &str| Candidate::new(file, "$RANKS_SOME").absolute("SOME library");
        for file in ["libsome.so", "/opt/some/libsome.so"] {
            assert_eq!(named(file), Ok(Candidate::new(file, "$RANKS_SOME")));
        }
        for file in ["some/libsome.so", "./libsome.so", "../libsome.so", "some/"] {
            let text = named(file).unwrap_err().to_string();
            let here = std::env::current_dir().unwrap();
            let from_root = format!("write it from the root: {}", here.display());
            for part in [file, "it is relative", &from_root, "[$RANKS_SOME]"] {
                assert!(text.contains(part), "{text}");
            }
        }
    }
}
