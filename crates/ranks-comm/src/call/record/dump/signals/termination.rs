//! Dumps at SIGTERM, when the scheduler or a user ends a job.
#![allow(unsafe_code)]

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::{mem, ptr};

use libc::{SIG_DFL, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, pipe};

use crate::call::background;
use crate::call::record::dump::{Reason, VARIABLE, write};

/// Makes this process write a dump at SIGTERM before it ends.
///
/// The process ends only if SIGTERM did that before: other handlers of the signal still run.
pub(in crate::call::record::dump) fn on_termination() {
    if let Err(reason) = listen() {
        eprintln!("ranks: SIGTERM will not be recorded ({VARIABLE}): {reason}");
    }
}

fn listen() -> std::io::Result<()> {
    let ends = ends_process();
    let (mut read, written) = UnixStream::pair()?;
    pipe::register(SIGTERM, written)?;
    let wait = move || {
        let mut byte = [0];
        while read.read(&mut byte).is_ok_and(|length| length > 0) {
            write(Reason::Termination, None, None);
            if ends && !ranks_launch::StopRequest::is_watched(SIGTERM) {
                // If that fails, the sender of the signal has SIGKILL.
                let _ = emulate_default_handler(SIGTERM);
            }
        }
    };
    background::start("ranks SIGTERM", wait).map(drop)
}

/// Returns `true` if SIGTERM has no handler.
fn ends_process() -> bool {
    // SAFETY: all of it are numbers and pointers, for which zeros are values.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: nothing is set, and the answer is ours.
    let code = unsafe { libc::sigaction(SIGTERM, ptr::null(), &raw mut action) };
    code == 0 && action.sa_sigaction == SIG_DFL
}
