//! Gather to all: a block of each rank, side by side on every rank.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::transfer::Transfer;
use crate::{in_process, mpi};

const NAME: &str = "MPI_Allgather";

#[inline]
pub(crate) fn allgather<T: Pod>(comm: &Communicator, send: &[T], recv: &mut [T]) -> Result<()> {
    let transfer = Transfer::gathered(NAME, comm, send, recv)?;
    comm.dispatch_with(
        NAME,
        transfer,
        mpi::allgather::<T>,
        in_process::allgather::<T>,
    )
}
