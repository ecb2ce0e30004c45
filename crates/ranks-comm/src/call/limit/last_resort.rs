//! Abort of the job at a time limit, whatever the library does.
#![allow(unsafe_code)]

use std::thread;
use std::time::Duration;

use ranks_mpi_sys as sys;

use crate::call::background;

/// The time for `MPI_Abort`.
const PATIENCE: Duration = Duration::from_millis(500);

/// Ends this process soon, unless something else does: `MPI_Abort` may deadlock, and so may the
/// library's work when a process exits.
pub(crate) fn end_soon(status: i32) {
    // Without the thread it is left to the library.
    let _ = background::start("ranks-end", move || {
        thread::sleep(PATIENCE);
        end_now(status)
    });
}

/// Aborts the job through the library, and ends this process in any case.
pub(crate) fn abort_for_sure(status: i32) -> ! {
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
