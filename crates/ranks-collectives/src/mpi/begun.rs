//! The beginning of an operation that returns at once: its request, and what the library uses until
//! it is over.

use std::ffi::c_int;

use ranks_comm::Result;
use ranks_comm::backend::{InFlight, Keep, StartedOp, check};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Request, native};

/// A request in the library's own width.
pub(super) type Cell = native::Cell<MPI_Request>;

/// Begins by a function with handles in the library's own form.
#[inline]
pub(super) fn begin(
    name: &'static str,
    keep: Option<Box<dyn Keep>>,
    call: impl FnOnce(*mut Cell) -> c_int,
) -> Result<StartedOp> {
    let mut cell = Cell::new();
    let code = call(&raw mut cell);
    check(code, name)?;
    Ok(begun(cell, keep))
}

/// Begins by a function in the standard's terms.
#[cold]
#[inline(never)]
pub(super) fn begin_large(
    name: &'static str,
    keep: Option<Box<dyn Keep>>,
    call: impl FnOnce(*mut MPI_Request) -> c_int,
) -> Result<StartedOp> {
    let mut request = sys::MPI_REQUEST_NULL;
    let code = call(&raw mut request);
    check(code, name)?;
    // SAFETY: the library is loaded: `call` has called it.
    let cell = unsafe { Cell::holding(request) };
    Ok(begun(cell, keep))
}

#[inline]
fn begun(cell: Cell, keep: Option<Box<dyn Keep>>) -> StartedOp {
    match keep {
        None => StartedOp::Mpi(cell),
        Some(keep) => begun_keeping(cell, keep),
    }
}

#[cold]
#[inline(never)]
fn begun_keeping(cell: Cell, keep: Box<dyn Keep>) -> StartedOp {
    StartedOp::MpiKeeping(cell, InFlight::new(keep))
}
