//! Reduction to one rank.

use ranks_comm::backend::TypeOf;
use ranks_comm::{Communicator, Result};

use crate::number::Number;
use crate::ops::Op;
use crate::transfer::Transfer;
use crate::{in_process, mpi};

const NAME: &str = "MPI_Reduce";

#[inline]
pub(crate) fn reduce<T: Number, O: Op<T>>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    _op: O,
    root: usize,
) -> Result<()> {
    match comm.express(send.len() * TypeOf::<T>::items()) {
        Some(over) => {
            mpi::reduce_small::<T, O>(over, Transfer::to_root(NAME, comm, send, recv, root)?)
        }
        None => in_full::<T, O>(comm, send, recv, root),
    }
}

/// Takes the arguments one by one, so that nothing need be built in memory before it is called.
#[cold]
#[inline(never)]
fn in_full<T: Number, O: Op<T>>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    root: usize,
) -> Result<()> {
    let transfer = Transfer::to_root(NAME, comm, send, recv, root)?;
    comm.dispatch_with(
        NAME,
        transfer,
        mpi::reduce::<T, O>,
        in_process::reduce::<T, O>,
    )
}
