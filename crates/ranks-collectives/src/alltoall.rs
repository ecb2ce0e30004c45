//! All to all: a block from each rank for each rank.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::transfer::Transfer;
use crate::{in_process, mpi};

const NAME: &str = "MPI_Alltoall";

#[inline]
pub(crate) fn alltoall<T: Pod>(comm: &Communicator, send: &[T], recv: &mut [T]) -> Result<()> {
    let transfer = Transfer::exchanged(NAME, comm, send, recv)?;
    comm.dispatch_with(
        NAME,
        transfer,
        mpi::alltoall::<T>,
        in_process::alltoall::<T>,
    )
}
