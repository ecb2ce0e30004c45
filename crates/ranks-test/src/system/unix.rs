//! The output and the end of a process of Unix.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use nix::unistd::{dup2_stderr, dup2_stdout};

/// Sends all that this process writes to a file.
pub(crate) fn redirect(file: &File) -> io::Result<()> {
    dup2_stdout(file)?;
    dup2_stderr(file)?;
    Ok(())
}

/// Has a function called at the end of the process; `false` if there is no room for it.
pub(crate) fn at_exit(function: extern "C" fn()) -> bool {
    // SAFETY: the function has the type that atexit wants, and lives as long as the program.
    unsafe { nix::libc::atexit(function) == 0 }
}

/// Ends the process, without what is to be called at its end.
pub(crate) fn end(status: i32) -> ! {
    // SAFETY: the function takes a number and touches no memory of the program.
    unsafe { nix::libc::_exit(status) }
}
