//! Scatter.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_comm::record::Over;
use ranks_mpi_sys::native;

use super::datatype::datatype;
use super::large;
use super::pointer::{recv_pointer, send_pointer};
use crate::transfer::Transfer;

const NAME: &str = "MPI_Scatter";

pub(crate) fn scatter<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    match TypeOf::<T>::small_count(transfer.block()) {
        Some(_) => scatter_small(comm, transfer),
        None => large::scatter(comm, transfer),
    }
}

/// A block that an `int` can count.
#[inline(always)]
pub(crate) fn scatter_small<T: Pod>(comm: impl Over, transfer: Transfer<'_, T>) -> Result<()> {
    let count = TypeOf::<T>::count(transfer.block());
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    let datatype = datatype::<T>();
    // SAFETY: `recv` is one block; at the root `send` is a block for each rank, and elsewhere it is not significant, as `Transfer` has proven; a block is `count` items of `datatype`.
    let code = unsafe {
        native::MPI_Scatter(
            send_pointer(send),
            count,
            datatype,
            recv_pointer(recv),
            count,
            datatype,
            root,
            comm.native,
        )
    };
    comm.over();
    check(code, NAME)
}
