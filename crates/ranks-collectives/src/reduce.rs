//! Reduction to one rank.

use bytemuck::Pod;
use ranks_comm::backend::MpiComm;
use ranks_comm::record::{self, Kind};
use ranks_comm::{Communicator, Result};

use crate::agreement::Call;
use crate::in_time::carry_out_in_time;
use crate::lasting::Lasting;
use crate::ops::Reduction;
use crate::transfer::Transfer;
use crate::{in_process, mpi, nonblocking};

const NAME: &str = "MPI_Reduce";

#[inline]
pub(crate) fn reduce<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    op: O,
    root: usize,
) -> Result<()> {
    // Only MPI's own operations are quick to begin with; an item of theirs is an element.
    let call = record::Call::of(const { &Kind::reducing::<T, O>(NAME).rooted() })
        .few(send.len())
        .root(root);
    let express = O::predefined().and_then(|_| comm.express_collective(send.len()));
    match express {
        Some(over) => {
            let transfer = Transfer::to_root(NAME, comm, send, recv, root)?;
            mpi::reduce_small(comm.recorded(over, call), &op, transfer)
        }
        None => in_full(comm, send, recv, &op, root),
    }?;
    if comm.rank() == root {
        op.finish(recv, comm.size());
    }
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
    root: usize,
) -> Result<()> {
    let transfer = Transfer::to_root(NAME, comm, send, recv, root);
    whole(comm, op, transfer, root)
}

pub(crate) fn reduce_in_place<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    data: &mut [T],
    op: O,
    root: usize,
) -> Result<()> {
    let transfer = Transfer::in_place_to_root(NAME, comm, data, root);
    whole(comm, &op, transfer, root)?;
    if comm.rank() == root {
        op.finish(data, comm.size());
    }
    Ok(())
}

fn whole<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    op: &O,
    transfer: Result<Transfer<'_, T>>,
    root: usize,
) -> Result<()> {
    carry_out_in_time(
        comm,
        Call::reducing::<T, O>(NAME).at(root),
        transfer,
        |comm, transfer| mpi::reduce(comm, op, transfer),
        O::predefined().map(|_| {
            let begin = |comm: &MpiComm, transfer: Lasting<Transfer<'_, T>>| {
                mpi::in_pieces::reduce::<T, O>(comm, transfer)
            };
            (&nonblocking::IREDUCE, begin)
        }),
        |comm, transfer| in_process::reduce(comm, op, transfer),
    )
}
