//! Barrier: blocking, nonblocking and persistent.

use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, StartedOp, check};
use ranks_comm::record::Over;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::native;

use super::begun::{begin, begin_large};
use super::functions::is_in_library;

#[inline(always)]
pub(crate) fn barrier(comm: impl Over<Target = Comm>) -> Result<()> {
    // SAFETY: no memory of ours is passed; the communicator is alive, as `Comm` is.
    let code = unsafe { native::MPI_Barrier(comm.native) };
    comm.over();
    check(code, "MPI_Barrier")
}

#[inline]
pub(crate) fn ibarrier(comm: &Comm) -> Result<StartedOp> {
    begin("MPI_Ibarrier", None, |request| {
        // SAFETY: a barrier has no memory; the request is a place of ours.
        unsafe { native::MPI_Ibarrier(comm.native, request) }
    })
}

pub(crate) fn barrier_init(comm: &Comm) -> Result<Option<StartedOp>> {
    const NAME: &str = "MPI_Barrier_init";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    begin_large(NAME, None, |request| {
        // SAFETY: a barrier has no memory; the request is a place of ours.
        unsafe { sys::MPI_Barrier_init(comm.canonical, sys::MPI_INFO_NULL, request) }
    })
    .map(Some)
}
