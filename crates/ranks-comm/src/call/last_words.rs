//! The reason for which a job is about to be aborted, on standard error.

use std::io::Write as _;
use std::time::Duration;
use std::{fmt, thread};

/// The time for which a launcher can read the last words of a rank: MPICH's reads no more once a
/// job aborts.
const TO_BE_READ: Duration = Duration::from_millis(200);

/// The exit status of a process that aborts its job since memory in flight cannot be given back.
pub(crate) const MEMORY_IN_FLIGHT: i32 = 101;

/// Prints on standard error why the job is about to be aborted, and waits for the launcher to read
/// it.
pub fn last_words(what: fmt::Arguments<'_>) {
    let text = format!("ranks: {what}\n");
    // In one write, so that no other rank's output comes between. An error here could not be
    // reported.
    let _ = std::io::stderr().write_all(text.as_bytes());
    thread::sleep(TO_BE_READ);
}
