//! The traits that give a communicator its operations: each method names an operation and a form.

// The macros come first.
#[macro_use]
mod forms;
#[macro_use]
mod operations;

#[cfg(feature = "serde")]
pub(crate) mod bcast_value;
pub(crate) mod collectives;
pub(crate) mod in_place_collectives;
pub(crate) mod in_place_forms;
pub(crate) mod intercommunicators;
pub(crate) mod neighbor_collectives;
pub(crate) mod neighbor_forms;
pub(crate) mod nonblocking_collectives;
pub(crate) mod packed;
pub(crate) mod persistent_collectives;
pub(crate) mod scoped_collectives;
pub(crate) mod sealed;
pub(crate) mod varying_collectives;
