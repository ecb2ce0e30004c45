//! Dumps at `exit`, or at a panic that aborts, while ranks of the process are at work.
#![allow(unsafe_code)]

use std::panic;

use super::{Reason, VARIABLE, by_rank, write};

/// Makes a process that calls `exit`, or panics where panics abort, write a dump before it ends.
pub(super) fn on_exit() {
    // SAFETY: the function is there as long as the process.
    if unsafe { libc::atexit(at_exit) } != 0 {
        eprintln!("ranks: an exit will not be recorded ({VARIABLE}): there is no room for it");
    }
    if cfg!(panic = "abort") {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            write(Reason::Panic, Some(info), None);
            before(info);
        }));
    }
}

extern "C" fn at_exit() {
    // Much of the process has ended already; what cannot be written then is left out.
    ranks_trace::contained(|| {
        if !by_rank().is_empty() {
            write(Reason::Exit, None, None);
        }
    });
}
