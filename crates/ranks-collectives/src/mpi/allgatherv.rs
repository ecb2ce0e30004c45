//! Gather of blocks of different lengths to all.

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_comm::record::Over;
use ranks_mpi_sys::native;

use super::datatype::datatype;
use super::large_varying;
use super::packed;
use super::pointer::{recv_pointer, send_pointer};
use crate::varying::Gathering;

const NAME: &str = "MPI_Allgatherv";

pub(crate) fn allgatherv<T: Pod>(
    comm: &Comm,
    me: usize,
    gathering: Gathering<'_, T>,
) -> Result<()> {
    let blocks = gathering.recv.blocks;
    if blocks.are_received_well() && blocks.are_large(TypeOf::<T>::items()) {
        return large_varying::allgatherv(comm, me, gathering);
    }
    match blocks.ints(TypeOf::<T>::items()) {
        Some(ints) if blocks.are_received_well() => allgatherv_small(comm, &ints, gathering),
        _ => packed::gathered(gathering, me, |gathering| allgatherv(comm, me, gathering)),
    }
}

/// Blocks that `int`s can count and place: `ints`, made by the gathering's own blocks for this type.
#[inline(always)]
pub(crate) fn allgatherv_small<T: Pod>(
    comm: impl Over,
    ints: &[c_int],
    gathering: Gathering<'_, T>,
) -> Result<()> {
    let (send, recv) = (gathering.send, gathering.recv.slice);
    let (counts, displacements) = ints.split_at(ints.len() / 2);
    let count = TypeOf::<T>::count(send.map_or(0, <[T]>::len));
    let datatype = datatype::<T>();
    // SAFETY: `send` is one block, and the blocks lie in `recv` and do not overlap, as `Gathering` has proven; counts and displacements are theirs in items of `datatype`.
    let code = unsafe {
        native::MPI_Allgatherv(
            send_pointer(send),
            count,
            datatype,
            recv_pointer(recv),
            counts.as_ptr(),
            displacements.as_ptr(),
            datatype,
            comm.native,
        )
    };
    comm.over();
    check(code, NAME)
}
