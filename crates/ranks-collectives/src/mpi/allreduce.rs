//! Reduction to all ranks.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::MpiComm as Comm;
use ranks_comm::record::Over;
use ranks_mpi_sys::native;

use super::large_reductions;
use super::operation::{Operation, count, is_small};
use super::pointer::{recv_pointer, send_pointer};
use crate::ops::Reduction;
use crate::transfer::Transfer;

const NAME: &str = "MPI_Allreduce";

pub(crate) fn allreduce<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    if is_small::<T>(transfer.block()) {
        allreduce_small(comm, op, transfer)
    } else {
        large_reductions::allreduce(comm, op, transfer)
    }
}

/// A block that an `int` can count.
#[inline(always)]
pub(crate) fn allreduce_small<T: Pod, O: Reduction<T>>(
    comm: impl Over,
    op: &O,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    let count = count::<T>(transfer.block());
    let (send, recv) = transfer.into_slices();
    let operation = Operation::of::<T, O>(op)?;
    let (op, datatype) = (operation.native_op(), operation.native_datatype());
    // SAFETY: `send` and `recv` are one block each, or `recv` is both, as `Transfer` has proven; a block is `count` items of `datatype`.
    let code = unsafe {
        native::MPI_Allreduce(
            send_pointer(send),
            recv_pointer(recv),
            count,
            datatype,
            op,
            comm.native,
        )
    };
    comm.over();
    operation.end(code, NAME)
}
