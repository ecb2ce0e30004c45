//! Abort of the job, at a time limit whatever the library does.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;

use super::longest_passed;
use crate::call::background;

/// The time for `MPI_Abort`.
const PATIENCE: Duration = Duration::from_millis(500);

/// The milliseconds that this rank leaves to those before it, to abort the job.
static TURN: AtomicU64 = AtomicU64::new(0);

/// Lets ranks that abort at the same time do so one after the other; the first ends the others.
/// The launcher of a fault-tolerant job of Open MPI 5.0 waits for ever in up to half of the jobs
/// that several ranks abort at once.
pub(crate) fn abort_in_turn(rank: usize) {
    TURN.store(300 * rank.min(8) as u64, Ordering::Relaxed);
}

fn await_turn() {
    thread::sleep(Duration::from_millis(TURN.load(Ordering::Relaxed)));
}

/// Aborts the job through the library; returns only if it could not.
///
/// # Safety
/// MPI is alive, and the communicator as well.
pub(crate) unsafe fn abort(comm: MPI_Comm, status: i32) {
    await_turn();
    if longest_passed().is_some() {
        end_soon(status);
    }
    // SAFETY: by this function's contract.
    unsafe { sys::MPI_Abort(comm, status) };
}

/// Ends this process soon, unless something else does: `MPI_Abort` may deadlock, and so may the
/// library's work when a process exits.
fn end_soon(status: i32) {
    // Without the thread it is left to the library.
    let _ = background::start("ranks-end", move || {
        thread::sleep(PATIENCE);
        end_now(status)
    });
}

/// Aborts the job through the library, and ends this process in any case.
pub(crate) fn abort_for_sure(status: i32) -> ! {
    await_turn();
    end_soon(status);
    // SAFETY: MPI was initialised, as an operation of it is late. It may be called while another
    // thread is in a call that does not end, or be refused: this process ends in any case.
    unsafe { sys::MPI_Abort(sys::MPI_COMM_WORLD, status) };
    end_now(status)
}

/// Ends this process immediately.
pub(crate) fn end_now(status: i32) -> ! {
    // SAFETY: it takes any number, and does nothing but end the process.
    unsafe { libc::_exit(status) }
}
