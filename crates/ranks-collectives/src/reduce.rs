//! Reduction to one rank.

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
    let transfer = Transfer::to_root(NAME, comm, send, recv, root)?;
    comm.dispatch_with(
        NAME,
        transfer,
        mpi::reduce::<T, O>,
        in_process::reduce::<T, O>,
    )
}
