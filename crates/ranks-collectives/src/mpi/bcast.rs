//! Broadcast.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_comm::record::Over;
use ranks_mpi_sys::native;

use super::datatype::datatype;
use super::large;
use super::pointer::recv_pointer;
use crate::transfer::Transfer;

const NAME: &str = "MPI_Bcast";

pub(crate) fn bcast<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    match TypeOf::<T>::small_count(transfer.block()) {
        Some(_) => bcast_small(comm, transfer),
        None => large::bcast(comm, transfer),
    }
}

/// A block that an `int` can count.
#[inline(always)]
pub(crate) fn bcast_small<T: Pod>(comm: impl Over, transfer: Transfer<'_, T>) -> Result<()> {
    let count = TypeOf::<T>::count(transfer.block());
    let root = transfer.root();
    let (_, data) = transfer.into_slices();
    let datatype = datatype::<T>();
    // SAFETY: `data` is one block, here and at the root, as `Transfer` has proven; a block is `count` items of `datatype`.
    let code = unsafe { native::MPI_Bcast(recv_pointer(data), count, datatype, root, comm.native) };
    comm.over();
    check(code, NAME)
}
