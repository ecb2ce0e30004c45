//! Between two groups.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_mpi_sys as sys;

use super::large::items;
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::intercommunicators::{Gathered, RootGroup};

pub(crate) fn bcast_between<T: Pod>(comm: &Comm, data: &mut [T], root: RootGroup) -> Result<()> {
    let root = root.number(sys::MPI_ROOT, sys::MPI_PROC_NULL);
    let (count, datatype) = (items::<T>(data.len()), TypeOf::<T>::datatype());
    // SAFETY: `data` is `count` items of `datatype`; the root is in the other group, as the caller has checked, or none.
    let code = unsafe {
        sys::MPI_Bcast_c(
            standard_recv_pointer(Some(data)),
            count,
            datatype,
            root,
            comm.canonical,
        )
    };
    check(code, "MPI_Bcast")
}

pub(crate) fn allgather_between<T: Pod>(comm: &Comm, gathered: Gathered<'_, T>) -> Result<()> {
    let datatype = TypeOf::<T>::datatype();
    // SAFETY: `send` is one block, and `recv` one of each rank of the other group, as `Gathered` has proven.
    let code = unsafe {
        sys::MPI_Allgather_c(
            standard_send_pointer(Some(gathered.send)),
            items::<T>(gathered.send.len()),
            datatype,
            standard_recv_pointer(Some(gathered.recv)),
            items::<T>(gathered.block),
            datatype,
            comm.canonical,
        )
    };
    check(code, "MPI_Allgather")
}
