//! Reduction to one rank.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::MpiComm as Comm;
use ranks_comm::record::Over;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{Family, native};

use super::large_reductions;
use super::operation::{Operation, count, is_small};
use super::pointer::{recv_pointer, send_pointer};
use crate::ops::Reduction;
use crate::transfer::Transfer;

const NAME: &str = "MPI_Reduce";

pub(crate) fn reduce<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    if transfer.is_in_place() && transfer.root() != 0 && loses_what_is_in_place() {
        return transfer.with_copy(|transfer| reduce(comm, op, transfer));
    }
    if is_small::<T>(transfer.block()) {
        reduce_small(comm, op, transfer)
    } else {
        large_reductions::reduce(comm, op, transfer)
    }
}

/// Whether the library is one of those of which some read from `MPI_IN_PLACE` itself at roots that are not rank 0: MPICH
/// from 4.0 to 4.1.1 (<https://github.com/pmodels/mpich/issues/6540>).
fn loses_what_is_in_place() -> bool {
    sys::loaded().is_some_and(|loaded| loaded.family() == Family::Mpich)
}

/// A block that an `int` can count.
#[inline(always)]
pub(crate) fn reduce_small<T: Pod, O: Reduction<T>>(
    comm: impl Over,
    op: &O,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    let count = count::<T>(transfer.block());
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    let operation = Operation::of::<T, O>(op)?;
    let (op, datatype) = (operation.native_op(), operation.native_datatype());
    // SAFETY: `send` is one block; at the root `recv` is one too, or both, and elsewhere it is not significant, as `Transfer` has proven; a block is `count` items of `datatype`.
    let code = unsafe {
        native::MPI_Reduce(
            send_pointer(send),
            recv_pointer(recv),
            count,
            datatype,
            op,
            root,
            comm.native,
        )
    };
    comm.over();
    operation.end(code, NAME)
}
