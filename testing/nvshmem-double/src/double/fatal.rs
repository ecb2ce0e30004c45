//! How the process ends.

use std::fmt::Display;
use std::process;

/// As the library does where it cannot go on: it says why and calls `exit(-1)`.
pub(crate) fn exit(text: impl Display) -> ! {
    eprintln!("nvshmem double: {text}, exiting...");
    process::exit(-1)
}

/// For what a program has done wrong, where the library would hang, crash or corrupt memory.
pub(crate) fn abort(text: impl Display) -> ! {
    eprintln!("nvshmem double: misuse: {text}");
    process::abort()
}
