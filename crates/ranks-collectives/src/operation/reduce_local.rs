//! Reduction of two blocks of this rank.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::arguments::transfer::Transfer;
use crate::ops::Op;
use crate::{in_process, mpi};

const NAME: &str = "MPI_Reduce_local";

pub(crate) fn reduce_local<T: Pod, O: Op<T>>(
    comm: &Communicator,
    left: &[T],
    right: &mut [T],
    op: O,
) -> Result<()> {
    let transfer = Transfer::equal(NAME, left, right)?;
    comm.dispatch_with(
        NAME,
        transfer,
        |_, transfer| mpi::reduce_local(&op, transfer),
        |_, transfer| in_process::reduce_local(&op, transfer),
    )
}
