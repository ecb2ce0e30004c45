//! The services of the system that a rank of a job uses. There are jobs on Unix only.

#[cfg(not(unix))]
#[path = "system/elsewhere.rs"]
mod of_target;
#[cfg(unix)]
#[path = "system/unix.rs"]
mod of_target;

pub(super) use of_target::{at_exit, redirect};
