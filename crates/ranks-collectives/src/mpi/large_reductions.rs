//! Reductions of 2³¹ elements and more: the large-count functions of MPI 4 for MPI's own operations.
//!
//! Where a library has none, and for operations of the program's, a reduction is done piece by piece: derived types that
//! stand for many elements do not go with operations.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::MpiComm as Comm;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Count;

use super::operation::{Operation, PIECE};
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::blocks::Blocks;
use crate::ops::Reduction;
use crate::transfer::Transfer;

/// Whether the library itself has `name`, and `O` is an operation that it can be asked for.
pub(super) fn is_at_once<T: Pod, O: Reduction<T>>(name: &str) -> bool {
    O::predefined().is_some() && sys::function(name).is_some_and(sys::Function::is_in_library)
}

/// A block of so many elements, each an item.
pub(super) fn items<T>(elements: usize) -> MPI_Count {
    // An item has a byte at least, so that elements of no size are no items; of others a slice has at most isize::MAX.
    match size_of::<T>() {
        0 => 0,
        _ => MPI_Count::try_from(elements).unwrap_or(0),
    }
}

pub(super) fn reduce<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    const NAME: &str = "MPI_Reduce_c";
    if !is_at_once::<T, O>(NAME) {
        return transfer
            .pieces(PIECE)
            .try_for_each(|piece| super::reduce(comm, op, piece));
    }
    let (count, root) = (items::<T>(transfer.block()), transfer.root());
    let (send, recv) = transfer.into_slices();
    let operation = Operation::of::<T, O>(op)?;
    // SAFETY: `send` is one block; at the root `recv` is one too, and elsewhere it is not significant, as `Transfer` has proven.
    let code = unsafe {
        sys::MPI_Reduce_c(
            standard_send_pointer(send),
            standard_recv_pointer(recv),
            count,
            operation.datatype,
            operation.op,
            root,
            comm.canonical,
        )
    };
    operation.end(code, NAME)
}

pub(super) fn allreduce<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    const NAME: &str = "MPI_Allreduce_c";
    if !is_at_once::<T, O>(NAME) {
        return transfer
            .pieces(PIECE)
            .try_for_each(|piece| super::allreduce(comm, op, piece));
    }
    let count = items::<T>(transfer.block());
    let (send, recv) = transfer.into_slices();
    let operation = Operation::of::<T, O>(op)?;
    // SAFETY: `send` and `recv` are one block each, as `Transfer` has proven.
    let code = unsafe {
        sys::MPI_Allreduce_c(
            standard_send_pointer(send),
            standard_recv_pointer(recv),
            count,
            operation.datatype,
            operation.op,
            comm.canonical,
        )
    };
    operation.end(code, NAME)
}

/// Where the library does not do it at once, each block is reduced to the rank that it is for.
pub(super) fn reduce_scatter_block<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    me: usize,
    op: &O,
    transfer: Transfer<'_, T>,
    blocks: &Blocks,
) -> Result<()> {
    const NAME: &str = "MPI_Reduce_scatter_block_c";
    if !is_at_once::<T, O>(NAME) {
        return transfer.reductions(me, blocks, |reduction| super::reduce(comm, op, reduction));
    }
    let count = items::<T>(transfer.block());
    let (send, recv) = transfer.into_slices();
    let operation = Operation::of::<T, O>(op)?;
    // SAFETY: `recv` is one block and `send` one for each rank, or `recv` is the latter, as `Transfer` has proven.
    let code = unsafe {
        sys::MPI_Reduce_scatter_block_c(
            standard_send_pointer(send),
            standard_recv_pointer(recv),
            count,
            operation.datatype,
            operation.op,
            comm.canonical,
        )
    };
    operation.end(code, NAME)
}

/// As above, with blocks of different lengths.
pub(super) fn reduce_scatter<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    me: usize,
    op: &O,
    transfer: Transfer<'_, T>,
    blocks: &Blocks,
) -> Result<()> {
    const NAME: &str = "MPI_Reduce_scatter_c";
    if !is_at_once::<T, O>(NAME) {
        return transfer.reductions(me, blocks, |reduction| super::reduce(comm, op, reduction));
    }
    let counts: Vec<MPI_Count> = blocks
        .counts()
        .iter()
        .map(|&count| items::<T>(count))
        .collect();
    let (send, recv) = transfer.into_slices();
    let operation = Operation::of::<T, O>(op)?;
    // SAFETY: `counts` are those of the blocks of `send` (or `recv`, in place), and `recv` is that of this rank, as `Transfer` has proven.
    let code = unsafe {
        sys::MPI_Reduce_scatter_c(
            standard_send_pointer(send),
            standard_recv_pointer(recv),
            counts.as_ptr(),
            operation.datatype,
            operation.op,
            comm.canonical,
        )
    };
    operation.end(code, NAME)
}
