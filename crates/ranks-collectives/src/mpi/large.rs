//! Blocks of 2³¹ items and more that are moved: the large-count functions of MPI 4.
//!
//! Where a library is older, `ranks-mpi-sys` moves the data with derived types instead.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Count;

use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::transfer::Transfer;

/// A block of `elements` in items of its datatype.
pub(super) fn items<T: Pod>(elements: usize) -> MPI_Count {
    // A slice has at most isize::MAX bytes, and an item at least one: this always fits.
    MPI_Count::try_from(elements * TypeOf::<T>::items()).unwrap_or(0)
}

pub(super) fn bcast<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let (count, datatype) = (items::<T>(transfer.block()), TypeOf::<T>::datatype());
    let root = transfer.root();
    let (_, data) = transfer.into_slices();
    // SAFETY: `data` is one block, here and at the root, as `Transfer` has proven.
    let code = unsafe {
        sys::MPI_Bcast_c(
            standard_recv_pointer(data),
            count,
            datatype,
            root,
            comm.canonical,
        )
    };
    check(code, "MPI_Bcast_c")
}

pub(super) fn gather<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let (count, datatype) = (items::<T>(transfer.block()), TypeOf::<T>::datatype());
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    // SAFETY: `send` is one block; at the root `recv` is a block of each rank, and elsewhere it is not significant, as `Transfer` has proven.
    let code = unsafe {
        sys::MPI_Gather_c(
            standard_send_pointer(send),
            count,
            datatype,
            standard_recv_pointer(recv),
            count,
            datatype,
            root,
            comm.canonical,
        )
    };
    check(code, "MPI_Gather_c")
}

pub(super) fn allgather<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let (count, datatype) = (items::<T>(transfer.block()), TypeOf::<T>::datatype());
    let (send, recv) = transfer.into_slices();
    // SAFETY: `send` is one block and `recv` a block of each rank, as `Transfer` has proven.
    let code = unsafe {
        sys::MPI_Allgather_c(
            standard_send_pointer(send),
            count,
            datatype,
            standard_recv_pointer(recv),
            count,
            datatype,
            comm.canonical,
        )
    };
    check(code, "MPI_Allgather_c")
}

pub(super) fn scatter<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let (count, datatype) = (items::<T>(transfer.block()), TypeOf::<T>::datatype());
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    // SAFETY: `recv` is one block; at the root `send` is a block for each rank, and elsewhere it is not significant, as `Transfer` has proven.
    let code = unsafe {
        sys::MPI_Scatter_c(
            standard_send_pointer(send),
            count,
            datatype,
            standard_recv_pointer(recv),
            count,
            datatype,
            root,
            comm.canonical,
        )
    };
    check(code, "MPI_Scatter_c")
}

pub(super) fn alltoall<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let (count, datatype) = (items::<T>(transfer.block()), TypeOf::<T>::datatype());
    let (send, recv) = transfer.into_slices();
    // SAFETY: `send` and `recv` are a block for each rank, as `Transfer` has proven.
    let code = unsafe {
        sys::MPI_Alltoall_c(
            standard_send_pointer(send),
            count,
            datatype,
            standard_recv_pointer(recv),
            count,
            datatype,
            comm.canonical,
        )
    };
    check(code, "MPI_Alltoall_c")
}
