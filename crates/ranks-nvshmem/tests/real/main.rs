//! The real NVSHMEM where there is no GPU: what it says is an error here, the same on all PEs, and
//! nothing waits or ends the process.
//!
//! `cargo xtask test` runs these on each wheel; by hand it is
//! `RANKS_NVSHMEM=…/libnvshmem_host.so.3 cargo test -p ranks-nvshmem --test real -- --ignored`. PEs
//! are processes, which a test starts itself, or the launchers of MPIs.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod over_mpi;
mod over_tcp;
mod support;
mod without_a_gpu;
