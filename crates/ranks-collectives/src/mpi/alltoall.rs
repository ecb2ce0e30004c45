//! All to all.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_comm::record::Over;
use ranks_mpi_sys::native;

use super::datatype::datatype;
use super::large;
use super::pointer::{recv_pointer, send_pointer};
use crate::transfer::Transfer;

const NAME: &str = "MPI_Alltoall";

pub(crate) fn alltoall<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    match TypeOf::<T>::small_count(transfer.block()) {
        Some(_) => alltoall_small(comm, transfer),
        None => large::alltoall(comm, transfer),
    }
}

/// A block that an `int` can count.
#[inline(always)]
pub(crate) fn alltoall_small<T: Pod>(comm: impl Over, transfer: Transfer<'_, T>) -> Result<()> {
    let count = TypeOf::<T>::count(transfer.block());
    let (send, recv) = transfer.into_slices();
    let datatype = datatype::<T>();
    // SAFETY: `send` and `recv` are a block for each rank, as `Transfer` has proven; a block is `count` items of `datatype`.
    let code = unsafe {
        native::MPI_Alltoall(
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
