//! Reduction of the ranks before this one.

use bytemuck::Pod;
use ranks_comm::backend::MpiComm;
use ranks_comm::record::{self, Kind};
use ranks_comm::{Communicator, Result};

use crate::agreement::Call;
use crate::in_time::carry_out_in_time;
use crate::lasting::Lasting;
use crate::ops::Op;
use crate::transfer::Transfer;
use crate::{in_process, mpi, nonblocking};

const NAME: &str = "MPI_Exscan";

#[inline]
pub(crate) fn exscan<T: Pod, O: Op<T>>(
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
            let transfer = Transfer::equal(NAME, send, recv)?;
            mpi::exscan_small(comm.recorded(over, call), &op, transfer)
        }
        None => in_full(comm, send, recv, &op),
    }
}

/// Takes the arguments one by one, so that nothing need be built in memory before it is called.
#[cold]
#[inline(never)]
fn in_full<T: Pod, O: Op<T>>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    op: &O,
) -> Result<()> {
    whole(comm, op, Transfer::equal(NAME, send, recv))
}

pub(crate) fn exscan_in_place<T: Pod, O: Op<T>>(
    comm: &Communicator,
    data: &mut [T],
    op: O,
) -> Result<()> {
    whole(comm, &op, Ok(Transfer::in_place(NAME, data)))
}

fn whole<T: Pod, O: Op<T>>(
    comm: &Communicator,
    op: &O,
    transfer: Result<Transfer<'_, T>>,
) -> Result<()> {
    carry_out_in_time(
        comm,
        Call::reducing::<T, O>(NAME),
        transfer,
        |comm, transfer| mpi::exscan(comm, op, transfer),
        O::predefined().map(|_| {
            let begin = |comm: &MpiComm, transfer: Lasting<Transfer<'_, T>>| {
                mpi::in_pieces::exscan::<T, O>(comm, transfer)
            };
            (&nonblocking::IEXSCAN, begin)
        }),
        |comm, transfer| in_process::exscan(comm, op, transfer),
    )
}
