//! Reduction to all ranks.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::agreement::{Call, carry_out};
use crate::ops::Reduction;
use crate::transfer::Transfer;
use crate::{in_process, mpi};

const NAME: &str = "MPI_Allreduce";

#[inline]
pub(crate) fn allreduce<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    op: O,
) -> Result<()> {
    // Only MPI's own operations are quick to begin with; an item of theirs is an element.
    let express = O::predefined().and_then(|_| comm.express(send.len()));
    match express {
        Some(over) => mpi::allreduce_small(over, &op, Transfer::equal(NAME, send, recv)?),
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
    whole(comm, op, Transfer::equal(NAME, send, recv))
}

pub(crate) fn allreduce_in_place<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    data: &mut [T],
    op: O,
) -> Result<()> {
    whole(comm, &op, Ok(Transfer::in_place(NAME, data)))?;
    op.finish(data, comm.size());
    Ok(())
}

fn whole<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    op: &O,
    transfer: Result<Transfer<'_, T>>,
) -> Result<()> {
    carry_out(
        comm,
        Call::reducing::<T, O>(NAME),
        transfer,
        |comm, transfer| mpi::allreduce(comm, op, transfer),
        |comm, transfer| in_process::allreduce(comm, op, transfer),
    )
}
