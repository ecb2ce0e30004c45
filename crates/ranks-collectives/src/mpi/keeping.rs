//! Whether the library keeps collectives, and such as can be relied on.
//!
//! MPICH 4.0 and Intel MPI 2021 copy what a rank gathers from itself when the operation is prepared, and not again when it
//! is started. In those of Intel MPI ranks that start in different orders meet in different operations besides. So the first
//! fault is looked for, once, among this rank alone: where it is, no operation is left to the library.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use ranks_comm::Result;
use ranks_comm::backend::check;
use ranks_mpi_sys as sys;

use super::large_varying::is_in_library;

/// Whether the library may be asked to prepare the collective `name`. It is so on all ranks or on none: they use the
/// same library.
pub(super) fn keeps(name: &str) -> bool {
    static RELIABLE: OnceLock<bool> = OnceLock::new();
    is_in_library(name)
        && *RELIABLE.get_or_init(|| {
            // What fails here is not to be relied on either.
            gathers_what_is_there_when_started().unwrap_or(false)
        })
}

fn gathers_what_is_there_when_started() -> Result<bool> {
    // Static, so that it is there whatever the library does with it.
    static SENT: AtomicI32 = AtomicI32::new(1);
    static RECEIVED: AtomicI32 = AtomicI32::new(0);
    let (from, to): (*const c_void, *mut c_void) = (SENT.as_ptr().cast(), RECEIVED.as_ptr().cast());
    let mut request = sys::MPI_REQUEST_NULL;
    // SAFETY: the library is initialised, as the caller has a `Comm`; both places are an `int` of ours.
    let code = unsafe {
        sys::MPI_Gather_init(
            from,
            1,
            sys::MPI_INT,
            to,
            1,
            sys::MPI_INT,
            0,
            sys::MPI_COMM_SELF,
            sys::MPI_INFO_NULL,
            &raw mut request,
        )
    };
    check(code, "MPI_Gather_init")?;
    const LATER: c_int = 2;
    SENT.store(LATER, Ordering::Relaxed);
    // SAFETY: the request was made just now.
    let code = unsafe { sys::MPI_Start(&raw mut request) };
    check(code, "MPI_Start")?;
    // SAFETY: the request was started just now.
    let code = unsafe { sys::MPI_Wait(&raw mut request, sys::MPI_STATUS_IGNORE) };
    check(code, "MPI_Wait")?;
    let arrived = RECEIVED.load(Ordering::Relaxed);
    // SAFETY: the request is not started any more.
    let code = unsafe { sys::MPI_Request_free(&raw mut request) };
    check(code, "MPI_Request_free")?;
    Ok(arrived == LATER)
}
