//! The NCCL that is fetched for tests and for machines with a GPU.

use std::path::PathBuf;

use crate::mpi;

/// The wheel, below `target/mpi`.
pub(crate) const WHEEL: &str = "nccl-2.32.3";

/// The library's file, or how to get it. With `provision` the wheel is brought first.
pub(crate) fn library(provision: bool) -> Result<PathBuf, String> {
    mpi::library(WHEEL, "lib/libnccl.so.2", provision)
}
