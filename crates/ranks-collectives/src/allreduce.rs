//! Reduction to all ranks.

use ranks_comm::backend::TypeOf;
use ranks_comm::{Communicator, Result};

use crate::number::Number;
use crate::ops::Op;
use crate::transfer::Transfer;
use crate::{in_process, mpi};

const NAME: &str = "MPI_Allreduce";

#[inline]
pub(crate) fn allreduce<T: Number, O: Op<T>>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    _op: O,
) -> Result<()> {
    match comm.express(send.len() * TypeOf::<T>::items()) {
        Some(over) => mpi::allreduce_small::<T, O>(over, Transfer::equal(NAME, send, recv)?),
        None => in_full::<T, O>(comm, send, recv),
    }
}

/// Takes the arguments one by one, so that nothing need be built in memory before it is called.
#[cold]
#[inline(never)]
fn in_full<T: Number, O: Op<T>>(comm: &Communicator, send: &[T], recv: &mut [T]) -> Result<()> {
    let transfer = Transfer::equal(NAME, send, recv)?;
    comm.dispatch_with(
        NAME,
        transfer,
        mpi::allreduce::<T, O>,
        in_process::allreduce::<T, O>,
    )
}
