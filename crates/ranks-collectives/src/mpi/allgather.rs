//! Gather to all.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_comm::record::Over;
use ranks_mpi_sys::native;

use super::datatype::datatype;
use super::large;
use super::pointer::{recv_pointer, send_pointer};
use crate::transfer::Transfer;

const NAME: &str = "MPI_Allgather";

pub(crate) fn allgather<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    match TypeOf::<T>::small_count(transfer.block()) {
        Some(_) => allgather_small(comm, transfer),
        None => large::allgather(comm, transfer),
    }
}

/// A block that an `int` can count.
#[inline(always)]
pub(crate) fn allgather_small<T: Pod>(comm: impl Over, transfer: Transfer<'_, T>) -> Result<()> {
    let count = TypeOf::<T>::count(transfer.block());
    let (send, recv) = transfer.into_slices();
    let datatype = datatype::<T>();
    // SAFETY: `send` is one block and `recv` a block of each rank, as `Transfer` has proven; a block is `count` items of `datatype`.
    let code = unsafe {
        native::MPI_Allgather(
            send_pointer(send),
            count,
            datatype,
            recv_pointer(recv),
            count,
            datatype,
            comm.native,
        )
    };
    comm.over();
    check(code, NAME)
}
