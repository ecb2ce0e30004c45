//! Reduction of a block for each rank.

use bytemuck::Pod;
use ranks_comm::backend::MpiComm;
use ranks_comm::record::{self, Kind};
use ranks_comm::{Communicator, Result};

use crate::agreement::Call;
use crate::blocks::Blocks;
use crate::in_time::carry_out_in_time;
use crate::lasting::Lasting;
use crate::ops::Reduction;
use crate::transfer::Transfer;
use crate::{in_process, mpi, nonblocking};

const NAME: &str = "MPI_Reduce_scatter_block";

#[inline]
pub(crate) fn reduce_scatter_block<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    op: O,
) -> Result<()> {
    // Only MPI's own operations are quick to begin with; an item of theirs is an element.
    let call = record::Call::of(const { &Kind::reducing::<T, O>(NAME) }).few(send.len());
    let express = O::predefined().and_then(|_| comm.express_collective(send.len()));
    match express {
        Some(over) => {
            let transfer = Transfer::scattered(NAME, comm, send, recv)?;
            mpi::reduce_scatter_block_small(comm.recorded(over, call), &op, transfer)
        }
        None => in_full(comm, send, recv, &op),
    }?;
    op.finish(recv, comm.size());
    Ok(())
}

/// Takes the arguments one by one, so that nothing need be built in memory before it is called.
#[cold]
#[inline(never)]
fn in_full<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    op: &O,
) -> Result<()> {
    whole(comm, op, Transfer::scattered(NAME, comm, send, recv))
}

pub(crate) fn reduce_scatter_block_in_place<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    data: &mut [T],
    op: O,
) -> Result<()> {
    whole(comm, &op, Transfer::blocks_in_place(NAME, comm, data))?;
    let block = data.len() / comm.size();
    op.finish(&mut data[..block], comm.size());
    Ok(())
}

fn whole<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    op: &O,
    transfer: Result<Transfer<'_, T>>,
) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    // As many elements as there are in all: no overflow.
    let block = transfer.as_ref().map_or(0, Transfer::block);
    let blocks = Blocks::even(block * size, size);
    carry_out_in_time(
        comm,
        Call::reducing::<T, O>(NAME),
        transfer,
        |comm, transfer| mpi::reduce_scatter_block(comm, me, op, transfer, &blocks),
        O::predefined().map(|_| {
            let begin = |comm: &MpiComm, transfer: Lasting<Transfer<'_, T>>| {
                mpi::in_pieces::reduce_scatter_block::<T, O>(comm, me, transfer, &blocks)
            };
            (&nonblocking::IREDUCE_SCATTER_BLOCK, begin)
        }),
        |comm, transfer| in_process::reduce_scatter(comm, op, transfer, &blocks),
    )
}
