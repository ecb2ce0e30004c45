//! The NCCL and the NVSHMEMs that are fetched for tests and for machines with a GPU.

use std::path::PathBuf;

use crate::mpi;

/// The wheel of NCCL, below `target/mpi`.
pub(crate) const NCCL: &str = "nccl-2.32.3";

/// The wheels of NVSHMEM: the newest, and one of the releases that begin in another way.
pub(crate) const NVSHMEM: [&str; 2] = ["nvshmem-3.8.0", "nvshmem-3.4.5"];

/// NCCL's file, or how to get it. With `provision` the wheel is brought first.
pub(crate) fn nccl(provision: bool) -> Result<PathBuf, String> {
    mpi::library(NCCL, "lib/libnccl.so.2", provision)
}

/// NVSHMEM's file in one of its wheels, or how to get it. With `provision` the wheel is brought
/// first.
pub(crate) fn nvshmem(wheel: &str, provision: bool) -> Result<PathBuf, String> {
    mpi::library(wheel, "lib/libnvshmem_host.so.3", provision)
}
