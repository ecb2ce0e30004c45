//! The services of the system that tests use. There are jobs on Unix only.

#[cfg(not(unix))]
#[path = "system/elsewhere.rs"]
mod of_target;
#[cfg(unix)]
#[path = "system/unix.rs"]
mod of_target;

pub(crate) use of_target::{at_exit, end, redirect};
