//! A job that is ended from outside: the scheduler, or a person, sends SIGTERM.
#![allow(unsafe_code)]

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Once;
use std::{mem, ptr, thread};

use libc::{SIG_DFL, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, pipe};

use super::{Reason, folder, write};

/// From now on SIGTERM makes this process write what was recorded before it ends. Nothing is changed where nothing is to be
/// written.
///
/// The process ends only if that is what SIGTERM did before: who handles the signal goes on doing so.
pub(super) fn on_termination() {
    static ONCE: Once = Once::new();
    if folder().is_some() {
        ONCE.call_once(|| {
            if let Err(reason) = listen() {
                eprintln!("ranks: SIGTERM will not be recorded (RANKS_DUMP): {reason}");
            }
        });
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
                // If that fails, whoever sent the signal has SIGKILL.
                let _ = emulate_default_handler(SIGTERM);
            }
        }
    };
    thread::Builder::new()
        .name("ranks SIGTERM".to_owned())
        .spawn(wait)?;
    Ok(())
}

/// Whether nobody handles SIGTERM.
fn ends_process() -> bool {
    // SAFETY: all of it are numbers and pointers, for which zeros are values.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: nothing is set, and the answer is ours.
    let code = unsafe { libc::sigaction(SIGTERM, ptr::null(), &raw mut action) };
    code == 0 && action.sa_sigaction == SIG_DFL
}
