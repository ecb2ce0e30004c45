//! Gather of blocks of different lengths.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_mpi_sys::native;

use super::datatype::datatype;
use super::large_varying;
use super::packed;
use super::pointer::{recv_pointer, send_pointer};
use crate::varying::Gathering;

const NAME: &str = "MPI_Gatherv";

pub(crate) fn gatherv<T: Pod>(comm: &Comm, me: usize, gathering: Gathering<'_, T>) -> Result<()> {
    let items = TypeOf::<T>::items();
    if gathering.recv.blocks.are_large(items) {
        return large_varying::gatherv(comm, me, gathering);
    }
    let Some(ints) = gathering.recv.blocks.ints(items) else {
        return packed::gathered(gathering, me, |gathering| gatherv(comm, me, gathering));
    };
    let root = gathering.root.number;
    let (send, recv) = (gathering.send, gathering.recv.slice);
    let (counts, displacements) = ints.split_at(ints.len() / 2);
    let count = TypeOf::<T>::count(send.map_or(0, <[T]>::len));
    let datatype = datatype::<T>();
    // SAFETY: `send` is one block; at the root the blocks lie in `recv` and do not overlap, and elsewhere it is not significant, as `Gathering` has proven; counts and displacements are theirs in items of `datatype`.
    let code = unsafe {
        native::MPI_Gatherv(
            send_pointer(send),
            count,
            datatype,
            recv_pointer(recv),
            counts.as_ptr(),
            displacements.as_ptr(),
            datatype,
            root,
            comm.native,
        )
    };
    check(code, NAME)
}
