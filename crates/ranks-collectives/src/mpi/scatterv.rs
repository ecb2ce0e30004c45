//! Scatter of blocks of different lengths.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_mpi_sys::native;

use super::datatype::datatype;
use super::large_varying;
use super::packed;
use super::pointer::{recv_pointer, send_pointer};
use crate::varying::Scattering;

const NAME: &str = "MPI_Scatterv";

pub(crate) fn scatterv<T: Pod>(
    comm: &Comm,
    me: usize,
    scattering: Scattering<'_, T>,
) -> Result<()> {
    let items = TypeOf::<T>::items();
    if scattering.send.blocks.are_large(items) {
        return large_varying::scatterv(comm, me, scattering);
    }
    let Some(ints) = scattering.send.blocks.ints(items) else {
        return packed::scattered(scattering, |scattering| scatterv(comm, me, scattering));
    };
    let root = scattering.root.number;
    let (send, recv) = (scattering.send.slice, scattering.recv);
    let (counts, displacements) = ints.split_at(ints.len() / 2);
    let count = TypeOf::<T>::count(recv.as_deref().map_or(0, <[T]>::len));
    let datatype = datatype::<T>();
    // SAFETY: `recv` is one block; at the root the blocks lie in `send`, and elsewhere it is not significant, as `Scattering` has proven; counts and displacements are theirs in items of `datatype`.
    let code = unsafe {
        native::MPI_Scatterv(
            send_pointer(send),
            counts.as_ptr(),
            displacements.as_ptr(),
            datatype,
            recv_pointer(recv),
            count,
            datatype,
            root,
            comm.native,
        )
    };
    check(code, NAME)
}
