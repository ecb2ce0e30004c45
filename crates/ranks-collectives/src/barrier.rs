//! Barrier: no data, only the wait.

use ranks_comm::{Communicator, Result};

use crate::agreement::{Call, carry_out};
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
    carry_out(
        comm,
        Call::of("MPI_Barrier"),
        Ok(()),
        |comm, ()| mpi::barrier(comm),
        |comm, ()| in_process::barrier(comm),
    )
}
