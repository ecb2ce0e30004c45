//! Finding and opening: the real NVSHMEM without a GPU, libraries that are none, and some that are
//! too old or lack something.
//!
//! Tests that need the real one are ignored; `cargo xtask test` runs them on each wheel, and by
//! hand it is `RANKS_NVSHMEM=…/libnvshmem_host.so.3 cargo test -p ranks-nvshmem-sys -- --ignored`.
//! Each runs in processes of its own.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod ends;
mod finding;
mod jobs;
mod real;
mod support;
