//! The standard input of this process, handed on to the job.
//!
//! The job is in a process group of its own, which may not read from a terminal: so it gets a pipe.

use std::io::{self, IsTerminal};
use std::process::ChildStdin;
use std::thread;

use nix::unistd::{getpgrp, tcgetpgrp};

/// Returns `true` if this process may read it: in the background of a terminal it would be stopped.
pub(super) fn is_ours() -> bool {
    let stdin = io::stdin();
    !stdin.is_terminal() || tcgetpgrp(&stdin) == Ok(getpgrp())
}

/// Hands on the standard input until its end, or that of the job.
pub(super) fn hand_on(mut pipe: ChildStdin) -> io::Result<()> {
    let reading = thread::Builder::new().spawn(move || {
        // An error says that the job reads no more.
        let _ = io::copy(&mut io::stdin().lock(), &mut pipe);
    });
    reading.map(drop)
}
