//! Reduction to all ranks.

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
    let transfer = Transfer::equal(NAME, send, recv)?;
    comm.dispatch_with(
        NAME,
        transfer,
        mpi::allreduce::<T, O>,
        in_process::allreduce::<T, O>,
    )
}
