//! Signals to processes, where there are such.

use std::process::Child;

#[cfg(not(unix))]
use elsewhere as system;
#[cfg(unix)]
use unix as system;

/// Asks a process to end. That it has just ended is no error.
pub(super) fn ask_to_end(child: &Child) {
    if let Ok(process) = i32::try_from(child.id()) {
        system::ask_to_end(process);
    }
}

/// Kills the process of this number, as `/proc` has it. That it has just ended is no error.
pub(super) fn kill(process: i32) {
    system::kill(process);
}

#[cfg(unix)]
mod unix {
    use nix::sys::signal::{self, Signal};
    use nix::unistd::Pid;

    pub(super) fn ask_to_end(process: i32) {
        let _ = signal::kill(Pid::from_raw(process), Signal::SIGTERM);
    }

    pub(super) fn kill(process: i32) {
        let _ = signal::kill(Pid::from_raw(process), Signal::SIGKILL);
    }
}

#[cfg(not(unix))]
mod elsewhere {
    pub(super) fn ask_to_end(_: i32) {}

    /// There is no `/proc`, and so no such number.
    pub(super) fn kill(_: i32) {}
}
