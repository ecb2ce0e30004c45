//! Between two groups.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, check};
use ranks_mpi_sys as sys;

use super::functions::{Abi, Allgather, Bcast, Large, Moved, Moves, Named};
use crate::intercommunicators::{Gathered, RootGroup};

pub(crate) fn bcast_between<T: Pod>(comm: &Comm, data: &mut [T], root: RootGroup) -> Result<()> {
    let with = Moved::<Large> {
        recv_count: Large::count::<T>(data.len()),
        root: root.number(sys::MPI_ROOT, sys::MPI_PROC_NULL),
        ..Moved::between(None, Some(data))
    };
    // SAFETY: `data` is so many items of the datatype; the root is in the other group, as the caller has checked, or none.
    let code = unsafe { Bcast::blocking_c(with, comm.canonical) };
    check(code, Bcast::BLOCKING)
}

pub(crate) fn allgather_between<T: Pod>(comm: &Comm, gathered: Gathered<'_, T>) -> Result<()> {
    let with = Moved::<Large> {
        send_count: Large::count::<T>(gathered.send.len()),
        recv_count: Large::count::<T>(gathered.block),
        ..Moved::between(Some(gathered.send), Some(gathered.recv))
    };
    // SAFETY: `send` is one block, and `recv` one of each rank of the other group, as `Gathered` has proven.
    let code = unsafe { Allgather::blocking_c(with, comm.canonical) };
    check(code, Allgather::BLOCKING)
}
