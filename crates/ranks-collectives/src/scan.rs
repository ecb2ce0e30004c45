//! Reduction of the ranks up to this one.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::agreement::{Call, carry_out};
use crate::ops::Op;
use crate::transfer::Transfer;
use crate::{in_process, mpi};

const NAME: &str = "MPI_Scan";

#[inline]
pub(crate) fn scan<T: Pod, O: Op<T>>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    op: O,
) -> Result<()> {
    // Only MPI's own operations are quick to begin with; an item of theirs is an element.
    let express = O::predefined().and_then(|_| comm.express(send.len()));
    match express {
        Some(over) => mpi::scan_small(over, &op, Transfer::equal(NAME, send, recv)?),
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

pub(crate) fn scan_in_place<T: Pod, O: Op<T>>(
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
    carry_out(
        comm,
        Call::reducing::<T, O>(NAME),
        transfer,
        |comm, transfer| mpi::scan(comm, op, transfer),
        |comm, transfer| in_process::scan(comm, op, transfer),
    )
}
