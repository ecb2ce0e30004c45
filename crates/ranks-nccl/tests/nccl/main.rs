//! Communicators of NCCL, on doubles of NCCL and of the CUDA driver: ranks are threads, processes,
//! or ranks of MPI.
//!
//! The doubles prove what this crate does with a library that behaves as NCCL is known to; they say
//! nothing about NCCL itself.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod faults;
#[path = "../../../../testing/processes.rs"]
mod launched;
mod life;
mod missing;
mod misuse;
mod observed;
mod one_sided;
mod operations;
mod ordered;
mod over_mpi;
mod processes;
mod raw;
mod real;
mod samples;
mod scopes;
mod support;
mod under_way;
