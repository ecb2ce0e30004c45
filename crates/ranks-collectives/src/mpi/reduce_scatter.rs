//! Reduction of a block for each rank, of different lengths.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::MpiComm as Comm;
use ranks_mpi_sys::native;

use super::large_reductions;
use super::operation::Operation;
use super::pointer::{recv_pointer, send_pointer};
use crate::blocks::Blocks;
use crate::ops::Reduction;
use crate::transfer::Transfer;

const NAME: &str = "MPI_Reduce_scatter";

/// `me` is this rank of `blocks.len()`.
pub(crate) fn reduce_scatter<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    me: usize,
    op: &O,
    transfer: Transfer<'_, T>,
    blocks: &Blocks,
) -> Result<()> {
    // Elements of no size are no items.
    let items = usize::from(size_of::<T>() > 0);
    let Some(ints) = blocks.ints(items) else {
        return large_reductions::reduce_scatter(comm, me, op, transfer, blocks);
    };
    let (send, recv) = transfer.into_slices();
    let operation = Operation::of::<T, O>(op)?;
    let (op, datatype) = (operation.native_op(), operation.native_datatype());
    // SAFETY: `ints` begin with the counts of the blocks of `send` (or `recv`, in place), and `recv` is that of this rank, as `Transfer` has proven; an element is an item of `datatype`.
    let code = unsafe {
        native::MPI_Reduce_scatter(
            send_pointer(send),
            recv_pointer(recv),
            ints.as_ptr(),
            datatype,
            op,
            comm.native,
        )
    };
    operation.end(code, NAME)
}
