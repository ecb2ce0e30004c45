//! Barrier.

use ranks_comm::Result;
use ranks_comm::backend::check;
use ranks_comm::record::Over;
use ranks_mpi_sys::native;

#[inline(always)]
pub(crate) fn barrier(comm: impl Over) -> Result<()> {
    // SAFETY: no memory of ours is passed; the communicator is alive, as `Comm` is.
    let code = unsafe { native::MPI_Barrier(comm.native) };
    comm.over();
    check(code, "MPI_Barrier")
}
