//! The end of the process: libtest returns from `main` or exits, and MPI must be finalized before.
//!
//! An MPI job whose ranks end without `MPI_Finalize` is one that failed, to some launchers.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use super::{THREAD, thread::Work};
use crate::system;

/// The time that the process waits for the thread to finalize; the driver has its own limit, and
/// this one is below it.
const END_LIMIT: Duration = Duration::from_secs(45);

/// `true` while the thread of MPI is inside a test: it cannot finalize then, and may be the one
/// that exits.
static BUSY: AtomicBool = AtomicBool::new(false);

pub(super) fn set_busy(busy: bool) {
    BUSY.store(busy, Ordering::SeqCst);
}

/// Has MPI finalized at the end of the process. Called when it is initialised, so that all of it is
/// still there then: the last function registered is called first.
pub(super) fn register() {
    if !system::at_exit(finalize) {
        eprintln!("atexit failed: MPI will not be finalized");
    }
}

extern "C" fn finalize() {
    if BUSY.load(Ordering::SeqCst) {
        return;
    }
    let Some(thread) = THREAD.get() else { return };
    let (sender, end) = channel();
    let sent = thread
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send(Work::End(sender));
    if sent.is_ok() {
        // The sender is dropped, never used: the answer is the disconnection.
        let _ = end.recv_timeout(END_LIMIT);
    }
}
