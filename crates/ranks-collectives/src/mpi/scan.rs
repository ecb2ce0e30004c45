//! Reduction of the ranks up to this one.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::MpiComm as Comm;
use ranks_comm::record::Over;
use ranks_mpi_sys::native;

use super::operation::{Operation, PIECE, count, is_small};
use super::pointer::{recv_pointer, send_pointer};
use crate::ops::Op;
use crate::transfer::Transfer;

const NAME: &str = "MPI_Scan";

/// A block that an `int` cannot count goes in pieces: each element is computed by itself.
pub(crate) fn scan<T: Pod, O: Op<T>>(comm: &Comm, op: &O, transfer: Transfer<'_, T>) -> Result<()> {
    if is_small::<T>(transfer.block()) {
        return scan_small(comm, op, transfer);
    }
    transfer
        .pieces(PIECE)
        .try_for_each(|piece| scan_small(comm, op, piece))
}

/// A block that an `int` can count.
#[inline(always)]
pub(crate) fn scan_small<T: Pod, O: Op<T>>(
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
        native::MPI_Scan(
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
