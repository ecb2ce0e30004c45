//! Scatter: the blocks of the root, one for each rank.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::transfer::Transfer;
use crate::{in_process, mpi};

const NAME: &str = "MPI_Scatter";

#[inline]
pub(crate) fn scatter<T: Pod>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    root: usize,
) -> Result<()> {
    let transfer = Transfer::scattered_from(NAME, comm, send, recv, root)?;
    comm.dispatch_with(NAME, transfer, mpi::scatter::<T>, in_process::scatter::<T>)
}
