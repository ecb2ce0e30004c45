//! Reasons why there is no NCCL.

use std::path::PathBuf;

use ranks_load::LoadError;

/// The reason why there is no NCCL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing that was tried could be opened, or was an NCCL that serves.
    #[error("{0}\nset RANKS_NCCL to the file of a libnccl.so.2")]
    NotFound(#[from] LoadError),
    /// The file can be opened and is something else.
    #[error("{} is no NCCL library: {reason}; set RANKS_NCCL to the file of a libnccl.so.2", path.display())]
    NotNccl {
        /// The file.
        path: PathBuf,
        /// The evidence that it is none.
        reason: String,
    },
    /// The library is older than what can be used.
    #[error("{} is NCCL {version} and has no {lacks}; NCCL {needs} or newer is needed (RANKS_NCCL)", path.display())]
    TooOld {
        /// The file.
        path: PathBuf,
        /// The version that the library reports.
        version: String,
        /// The first function that it lacks.
        lacks: &'static str,
        /// The oldest release that serves.
        needs: &'static str,
    },
}
