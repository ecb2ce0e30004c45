//! Gather to all.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_mpi_sys::native;

use super::datatype::datatype;
use super::large;
use super::pointer::{recv_pointer, send_pointer};
use crate::transfer::Transfer;

const NAME: &str = "MPI_Allgather";

#[inline]
pub(crate) fn allgather<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let Some(count) = TypeOf::<T>::small_count(transfer.block()) else {
        return large::allgather(comm, transfer);
    };
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
    check(code, NAME)
}
