//! Gather.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_comm::record::Over;
use ranks_mpi_sys::native;

use super::datatype::datatype;
use super::large;
use super::pointer::{recv_pointer, send_pointer};
use crate::transfer::Transfer;

const NAME: &str = "MPI_Gather";

pub(crate) fn gather<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    match TypeOf::<T>::small_count(transfer.block()) {
        Some(_) => gather_small(comm, transfer),
        None => large::gather(comm, transfer),
    }
}

/// A block that an `int` can count.
#[inline(always)]
pub(crate) fn gather_small<T: Pod>(comm: impl Over, transfer: Transfer<'_, T>) -> Result<()> {
    let count = TypeOf::<T>::count(transfer.block());
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    let datatype = datatype::<T>();
    // SAFETY: `send` is one block; at the root `recv` is a block of each rank, and elsewhere it is not significant, as `Transfer` has proven; a block is `count` items of `datatype`.
    let code = unsafe {
        native::MPI_Gather(
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
