//! Reduction of a block for each rank.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::MpiComm as Comm;
use ranks_comm::record::Over;
use ranks_mpi_sys::native;

use super::large_reductions;
use super::operation::{Operation, count, is_small};
use super::pointer::{recv_pointer, send_pointer};
use crate::blocks::Blocks;
use crate::ops::Reduction;
use crate::transfer::Transfer;

const NAME: &str = "MPI_Reduce_scatter_block";

/// `me` is this rank of `blocks.len()`, which are all of the same length.
pub(crate) fn reduce_scatter_block<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    me: usize,
    op: &O,
    transfer: Transfer<'_, T>,
    blocks: &Blocks,
) -> Result<()> {
    if is_small::<T>(blocks.end()) {
        reduce_scatter_block_small(comm, op, transfer)
    } else {
        large_reductions::reduce_scatter_block(comm, me, op, transfer, blocks)
    }
}

/// Blocks that an `int` can count together.
#[inline(always)]
pub(crate) fn reduce_scatter_block_small<T: Pod, O: Reduction<T>>(
    comm: impl Over,
    op: &O,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    let count = count::<T>(transfer.block());
    let (send, recv) = transfer.into_slices();
    let operation = Operation::of::<T, O>(op)?;
    let (op, datatype) = (operation.native_op(), operation.native_datatype());
    // SAFETY: `recv` is one block and `send` one for each rank, or `recv` is the latter, as `Transfer` has proven; a block is `count` items of `datatype`.
    let code = unsafe {
        native::MPI_Reduce_scatter_block(
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
