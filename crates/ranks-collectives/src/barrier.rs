//! Barrier: no data, only the wait.

use ranks_comm::{Communicator, Result};

use crate::{in_process, mpi};

#[inline]
pub(crate) fn barrier(comm: &Communicator) -> Result<()> {
    comm.dispatch("MPI_Barrier", mpi::barrier, in_process::barrier)
}
