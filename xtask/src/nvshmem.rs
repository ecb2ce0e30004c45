//! The NVSHMEMs that are fetched for tests and for machines with a GPU.

use std::path::PathBuf;

use crate::mpi;

/// The wheels, below `target/mpi`: the newest, and one of the releases that begin in another way.
pub(crate) const WHEELS: [&str; 2] = ["nvshmem-3.8.0", "nvshmem-3.4.5"];

/// The library's file in one of them, or how to get it. With `provision` the wheel is brought first.
pub(crate) fn library(wheel: &str, provision: bool) -> Result<PathBuf, String> {
    mpi::library(wheel, "lib/libnvshmem_host.so.3", provision)
}
