//! An NCCL over shared memory, for tests: the C functions of NCCL 2.32, with its manners.
//!
//! It is loaded by its path alone, and takes CUDA from the file that `NCCL_DOUBLE_CUDA` or
//! `ncclDouble_use_cuda` names. What it does lies in `double`; the functions that it exports lie in
//! `api`, by the release that brought them, so that a sibling can export those of an old release
//! only. Functions named `ncclDouble_…` are for tests. Where each behaviour was read: `README.md`
//! beside the crate.

mod api;
mod double;

/// The release that this is.
const VERSION: i32 = 23203;
