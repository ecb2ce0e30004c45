//! Errors of loading NVSHMEM.

use std::path::PathBuf;

use ranks_load::LoadError;

use crate::Version;

/// The reason for which there is no NVSHMEM.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing that was tried could be opened, or was an NVSHMEM that serves.
    #[error("{0}\nset RANKS_NVSHMEM to the file of a libnvshmem_host.so.3")]
    NotFound(#[from] LoadError),
    /// The file can be opened and is something else.
    #[error("{} is no NVSHMEM 3 host library: {reason}; set RANKS_NVSHMEM to the file of a libnvshmem_host.so.3", path.display())]
    NotNvshmem {
        /// The file.
        path: PathBuf,
        /// The reason why it is none.
        reason: String,
    },
    /// The library is older than what can be used.
    #[error("{} is NVSHMEM {version}; NVSHMEM {needs} or newer is needed (RANKS_NVSHMEM)", path.display())]
    TooOld {
        /// The file.
        path: PathBuf,
        /// The version that the library reports.
        version: Version,
        /// The oldest release that serves.
        needs: &'static str,
    },
    /// The library lacks what every release has.
    #[error("{} says that it is NVSHMEM {version}, and has no {lacks}, which all releases from {since} on have", path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// The version that the library reports.
        version: Version,
        /// The first function that it lacks.
        lacks: &'static str,
        /// The release that brought it.
        since: &'static str,
    },
}
