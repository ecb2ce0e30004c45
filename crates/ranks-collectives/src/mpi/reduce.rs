//! Reduction to one rank.

use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_mpi_sys::native;

use super::datatype::datatype;
use super::large;
use super::pointer::{recv_pointer, send_pointer};
use crate::number::Number;
use crate::ops::Op;
use crate::transfer::Transfer;

const NAME: &str = "MPI_Reduce";

pub(crate) fn reduce<T: Number, O: Op<T>>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    match TypeOf::<T>::small_count(transfer.block()) {
        Some(_) => reduce_small::<T, O>(comm, transfer),
        None => large::reduce::<T, O>(comm, transfer),
    }
}

/// A block that an `int` can count.
#[inline(always)]
pub(crate) fn reduce_small<T: Number, O: Op<T>>(
    comm: &Comm,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    let count = TypeOf::<T>::count(transfer.block());
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    // SAFETY: the library is loaded, since there is a `Comm`.
    let op = unsafe { native::op(O::MPI) };
    let datatype = datatype::<T>();
    // SAFETY: `send` is one block; at the root `recv` is one too, and elsewhere it is not significant, as `Transfer` has proven; a block is `count` items of `datatype`.
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
    check(code, NAME)
}
