//! Reduction to all ranks.

use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_mpi_sys::native;

use super::datatype::datatype;
use super::large;
use super::pointer::{recv_pointer, send_pointer};
use crate::number::Number;
use crate::ops::Op;
use crate::transfer::Transfer;

const NAME: &str = "MPI_Allreduce";

pub(crate) fn allreduce<T: Number, O: Op<T>>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    match TypeOf::<T>::small_count(transfer.block()) {
        Some(_) => allreduce_small::<T, O>(comm, transfer),
        None => large::allreduce::<T, O>(comm, transfer),
    }
}

/// A block that an `int` can count.
#[inline(always)]
pub(crate) fn allreduce_small<T: Number, O: Op<T>>(
    comm: &Comm,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    let count = TypeOf::<T>::count(transfer.block());
    let (send, recv) = transfer.into_slices();
    // SAFETY: the library is loaded, since there is a `Comm`.
    let op = unsafe { native::op(O::MPI) };
    let datatype = datatype::<T>();
    // SAFETY: `send` and `recv` are one block each, as `Transfer` has proven; a block is `count` items of `datatype`.
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
    check(code, NAME)
}
