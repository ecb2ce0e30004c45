//! Reduction of a block for each rank, of different lengths.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::blocks::Blocks;
use crate::ops::Op;
use crate::transfer::Transfer;
use crate::{in_process, mpi};

const NAME: &str = "MPI_Reduce_scatter";

pub(crate) fn reduce_scatter<T: Pod, O: Op<T>>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    blocks: &Blocks,
    op: O,
) -> Result<()> {
    let transfer = Transfer::dealt(NAME, comm, send, recv, blocks)?;
    whole(comm, &op, transfer, blocks)
}

pub(crate) fn reduce_scatter_in_place<T: Pod, O: Op<T>>(
    comm: &Communicator,
    data: &mut [T],
    blocks: &Blocks,
    op: O,
) -> Result<()> {
    let transfer = Transfer::dealt_in_place(NAME, comm, data, blocks)?;
    whole(comm, &op, transfer, blocks)
}

fn whole<T: Pod, O: Op<T>>(
    comm: &Communicator,
    op: &O,
    transfer: Transfer<'_, T>,
    blocks: &Blocks,
) -> Result<()> {
    let me = comm.rank();
    comm.dispatch_with(
        NAME,
        transfer,
        |comm, transfer| mpi::reduce_scatter(comm, me, op, transfer, blocks),
        |comm, transfer| in_process::reduce_scatter(comm, op, transfer, blocks),
    )
}
