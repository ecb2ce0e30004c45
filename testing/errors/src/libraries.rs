//! Errors of opening libraries.

use std::path::PathBuf;

use ranks_load::{Candidate, Library, LoadError};

use crate::Text;

pub(crate) fn texts() -> Vec<Text> {
    let path = || PathBuf::from("/opt/lib/libx.so");
    let nccl = [
        (
            "ranks_nccl_sys::Error::NotFound",
            ranks_nccl_sys::Error::NotFound(refused("NCCL library")),
        ),
        (
            "ranks_nccl_sys::Error::NotNccl",
            ranks_nccl_sys::Error::NotNccl {
                path: path(),
                reason: "it has no ncclGetVersion".to_owned(),
            },
        ),
        (
            "ranks_nccl_sys::Error::TooOld",
            ranks_nccl_sys::Error::TooOld {
                path: path(),
                version: "2.14.3".to_owned(),
                lacks: "ncclCommInitRankConfig",
                needs: "2.18",
            },
        ),
    ];
    let version = ranks_nvshmem_sys::Version {
        major: 3,
        minor: 2,
        patch: 5,
    };
    let nvshmem = [
        (
            "ranks_nvshmem_sys::Error::NotFound",
            ranks_nvshmem_sys::Error::NotFound(refused("NVSHMEM library")),
        ),
        (
            "ranks_nvshmem_sys::Error::NotNvshmem",
            ranks_nvshmem_sys::Error::NotNvshmem {
                path: path(),
                reason: "it has no nvshmemx_vendor_get_version_info".to_owned(),
            },
        ),
        (
            "ranks_nvshmem_sys::Error::TooOld",
            ranks_nvshmem_sys::Error::TooOld {
                path: path(),
                version,
                needs: "3.4",
            },
        ),
        (
            "ranks_nvshmem_sys::Error::Incomplete",
            ranks_nvshmem_sys::Error::Incomplete {
                path: path(),
                version,
                lacks: "nvshmem_malloc",
                since: "3.0",
            },
        ),
    ];
    let mut texts = vec![
        ("ranks_load::LoadError", refused("MPI library").to_string()),
        ("ranks_load::LoadError", not_there().to_string()),
    ];
    texts.extend(nccl.map(|(place, error)| (place, error.to_string())));
    texts.extend(nvshmem.map(|(place, error)| (place, error.to_string())));
    texts
}

fn refused(what: &'static str) -> LoadError {
    LoadError::refused(what, "it is too old")
}

fn not_there() -> LoadError {
    let candidates = ["/opt/mpi/lib/libmpi.so.12", "libmpi-that-is-not-here.so"]
        .map(|file| Candidate::new(file, "RANKS_MPI"));
    // SAFETY: there is nothing to open.
    unsafe { Library::open("MPI library", &candidates, |_| Ok(())) }.unwrap_err()
}
