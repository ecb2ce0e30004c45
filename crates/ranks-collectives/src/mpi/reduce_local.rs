//! Reduction of two blocks of this rank.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_mpi_sys::native;

use super::operation::{Operation, PIECE, count, is_small};
use super::pointer::{recv_pointer, send_pointer};
use crate::arguments::transfer::Transfer;
use crate::ops::Op;

const NAME: &str = "MPI_Reduce_local";

/// A block that an `int` cannot count goes in pieces: each element is computed by itself.
pub(crate) fn reduce_local<T: Pod, O: Op<T>>(op: &O, transfer: Transfer<'_, T>) -> Result<()> {
    if is_small::<T>(transfer.block()) {
        return small(op, transfer);
    }
    transfer
        .pieces(PIECE)
        .try_for_each(|piece| small(op, piece))
}

fn small<T: Pod, O: Op<T>>(op: &O, transfer: Transfer<'_, T>) -> Result<()> {
    let count = count::<T>(transfer.block());
    let (send, recv) = transfer.into_slices();
    let operation = Operation::of::<T, O>(op)?;
    let (op, datatype) = operation.native();
    // SAFETY: `send` and `recv` are one block each, as `Transfer` has proven; a block is `count`
    // items of `datatype`.
    let code = unsafe {
        native::MPI_Reduce_local(send_pointer(send), recv_pointer(recv), count, datatype, op)
    };
    operation.end(code, NAME)
}
