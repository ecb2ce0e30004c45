//! Completion of several requests (`MPI_Waitall`).

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use ranks_mpi_sys::{self as sys, Loaded, native};

/// `true` if requests are tested until they are complete.
///
/// Open MPI's `MPI_Waitall` that has found a failed request leaves its wait object behind: of 4.1.4
/// and 4.1.8 the next call on that thread waits for ever, of 5.0.11 it returns success without a
/// check (in C, at MPI_THREAD_MULTIPLE and, of 5.0.11, below). `MPI_Testall` does neither.
static BY_TESTS: AtomicBool = AtomicBool::new(false);

/// Finds out the way. Called once the library is loaded.
pub(crate) fn find_out(loaded: &Loaded) {
    BY_TESTS.store(loaded.is_openmpi(), Ordering::Relaxed);
}

/// `MPI_Waitall`.
///
/// # Safety
/// The contract of the C function; the library is initialised.
#[inline(always)]
pub(crate) unsafe fn wait_all(count: c_int, requests: *mut c_void, statuses: *mut c_void) -> c_int {
    if !BY_TESTS.load(Ordering::Relaxed) {
        // SAFETY: by this function's contract.
        return unsafe { native::MPI_Waitall(count, requests, statuses) };
    }
    loop {
        let mut flag: c_int = 0;
        // SAFETY: by this function's contract; those that are over are null and stay so.
        let code = unsafe { native::MPI_Testall(count, requests, &raw mut flag, statuses) };
        if flag != 0 || code != sys::MPI_SUCCESS {
            return code;
        }
    }
}
