//! Sources of ranks-rma-window's folder `shared_window`.

pub(crate) mod lock_models;
pub(crate) mod phase_models;

#[path = "../../../crates/ranks-rma-window/src/shared_window/locks.rs"]
mod locks;
#[path = "../../../crates/ranks-rma-window/src/shared_window/steps.rs"]
mod steps;

/// The C name of what changes a phase.
const FENCE: &str = "MPI_Win_fence";
