//! Signals, and folders that are a user's alone, where there are such.

#[cfg(not(unix))]
#[path = "system/elsewhere.rs"]
mod of_target;
#[cfg(unix)]
#[path = "system/unix.rs"]
mod of_target;

pub(crate) use of_target::{end_by, watch_signals};
pub(super) use of_target::{hang_up, make_folder, name, signal};

/// The number of SIGPIPE, on all systems that have it.
pub(super) const PIPE: i32 = 13;

/// The numbers of SIGINT, SIGKILL and SIGTERM, on all systems that have them.
pub(super) const OF_LAUNCHERS: [i32; 3] = [2, 9, 15];
