//! All to all, with blocks of different lengths.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_mpi_sys::native;

use super::datatype::datatype;
use super::large_varying;
use super::pointer::{recv_pointer, send_pointer};
use crate::varying::Exchange;

const NAME: &str = "MPI_Alltoallv";

pub(crate) fn alltoallv<T: Pod>(comm: &Comm, exchange: Exchange<'_, T>) -> Result<()> {
    let items = TypeOf::<T>::items();
    let ints = (
        exchange.send.blocks.ints(items),
        exchange.recv.blocks.ints(items),
    );
    let (Some(sent), Some(received)) = ints else {
        return large_varying::alltoallv(comm, exchange);
    };
    let (send_counts, send_displacements) = sent.split_at(sent.len() / 2);
    let (recv_counts, recv_displacements) = received.split_at(received.len() / 2);
    let (send, recv) = (exchange.send.slice, exchange.recv.slice);
    let datatype = datatype::<T>();
    // SAFETY: the blocks lie in `send` and `recv`, and those of `recv` do not overlap, as `Exchange` has proven; counts and displacements are theirs in items of `datatype`.
    let code = unsafe {
        native::MPI_Alltoallv(
            send_pointer(send),
            send_counts.as_ptr(),
            send_displacements.as_ptr(),
            datatype,
            recv_pointer(recv),
            recv_counts.as_ptr(),
            recv_displacements.as_ptr(),
            datatype,
            comm.native,
        )
    };
    check(code, NAME)
}
