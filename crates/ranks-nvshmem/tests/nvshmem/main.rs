//! The symmetric heap: in process, where PEs are threads, and over doubles of NVSHMEM and of the
//! CUDA driver, where they are processes.
//!
//! The doubles prove what this crate does with a library that behaves as NVSHMEM is known to; they
//! say nothing about NVSHMEM itself.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod conformance;
mod device_code;
mod endings;
#[path = "../../../../testing/processes.rs"]
mod launched;
mod life;
mod memory;
mod misuse;
mod observed;
mod raw;
mod room;
mod support;
