//! Barrier: no data, only the wait.

use ranks_comm::{Communicator, Result};

use crate::{in_process, mpi};

#[inline]
pub(crate) fn barrier(comm: &Communicator) -> Result<()> {
    match comm.express(1) {
        Some(over) => mpi::barrier(over),
        None => in_full(comm),
    }
}

#[cold]
#[inline(never)]
fn in_full(comm: &Communicator) -> Result<()> {
    comm.dispatch("MPI_Barrier", mpi::barrier, in_process::barrier)
}
