//! Barrier.

use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, check};
use ranks_mpi_sys::native;

#[inline(always)]
pub(crate) fn barrier(comm: &Comm) -> Result<()> {
    // SAFETY: no memory of ours is passed; the communicator is alive, as `Comm` is.
    let code = unsafe { native::MPI_Barrier(comm.native) };
    check(code, "MPI_Barrier")
}
