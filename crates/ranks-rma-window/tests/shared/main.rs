//! Memory that the ranks of a node load and store directly, in process and on every MPI.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a failure is a failed test, and samples are small"
)]

mod defects;
#[path = "../../../../testing/giving_up.rs"]
mod giving_up;
mod jacobi;
mod limits;
mod locks;
mod phases;
mod reductions;
mod steps;
