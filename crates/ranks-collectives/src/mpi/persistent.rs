//! Collectives that the library keeps, of blocks of one length.
//!
//! They are made by the large-count functions, which `ranks-mpi-sys` has for every library that can prepare such an operation
//! at all; starting them is what must be quick. The memory of a [`Lasting`] stays until the request is freed.

use std::ffi::{c_int, c_void};

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Begun, MpiComm as Comm, TypeOf};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Count, MPI_Datatype, MPI_Info, MPI_Request};

use super::begun::begin_large;
use super::large::items;
use super::large_varying::is_in_library;
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::lasting::Lasting;
use crate::transfer::Transfer;

/// Whether the library has persistent collectives, good ones or bad. It is so on all ranks or on none: they use the same library.
pub(crate) fn keeps_collectives() -> bool {
    is_in_library("MPI_Gather_init")
}

pub(crate) fn barrier_init(comm: &Comm) -> Result<Option<Begun>> {
    const NAME: &str = "MPI_Barrier_init";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    begin_large(NAME, None, |request| {
        // SAFETY: a barrier has no memory; the request is a place of ours.
        unsafe { sys::MPI_Barrier_init(comm.canonical, sys::MPI_INFO_NULL, request) }
    })
    .map(Some)
}

/// Whether the library prepares blocks of that many `elements`: if not, larger ones than an `int` counts are begun anew at
/// each start, by derived types. It is so on all ranks or on none, since all have blocks of the same length.
fn prepares<T: Pod>([name, large]: [&str; 2], elements: usize) -> bool {
    is_in_library(name) && (TypeOf::<T>::small_count(elements).is_some() || is_in_library(large))
}

pub(crate) fn bcast_init<T: Pod>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Option<Begun>> {
    let transfer = transfer.into_inner();
    if !prepares::<T>(["MPI_Bcast_init", "MPI_Bcast_init_c"], transfer.block()) {
        return Ok(None);
    }
    let (count, datatype) = (items::<T>(transfer.block()), TypeOf::<T>::datatype());
    let root = transfer.root();
    let (_, data) = transfer.into_slices();
    begin_large("MPI_Bcast_init", None, |request| {
        // SAFETY: `data` is one block, here and at the root, as `Transfer` has proven, and lasts, as `Lasting` says.
        unsafe {
            sys::MPI_Bcast_init_c(
                standard_recv_pointer(data),
                count,
                datatype,
                root,
                comm.canonical,
                sys::MPI_INFO_NULL,
                request,
            )
        }
    })
    .map(Some)
}

/// A function that prepares to move a block of each rank to or from a root.
type Rooted = unsafe fn(
    *const c_void,
    MPI_Count,
    MPI_Datatype,
    *mut c_void,
    MPI_Count,
    MPI_Datatype,
    c_int,
    MPI_Comm,
    MPI_Info,
    *mut MPI_Request,
) -> c_int;

/// # Safety
/// `call` is a function of MPI that may have the slices of `transfer`, told how long a block of it is.
unsafe fn rooted<T: Pod>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
    names: [&'static str; 2],
    call: Rooted,
) -> Result<Option<Begun>> {
    let transfer = transfer.into_inner();
    if !prepares::<T>(names, transfer.block()) {
        return Ok(None);
    }
    let (count, datatype) = (items::<T>(transfer.block()), TypeOf::<T>::datatype());
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    begin_large(names[0], None, |request| {
        // SAFETY: the function may have the slices, by the contract of this one; they last, as `Lasting` says.
        unsafe {
            call(
                standard_send_pointer(send),
                count,
                datatype,
                standard_recv_pointer(recv),
                count,
                datatype,
                root,
                comm.canonical,
                sys::MPI_INFO_NULL,
                request,
            )
        }
    })
    .map(Some)
}

pub(crate) fn gather_init<T: Pod>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Option<Begun>> {
    let names = ["MPI_Gather_init", "MPI_Gather_init_c"];
    // SAFETY: `send` is one block, and at the root `recv` is a block of each rank, as `Transfer` has proven.
    unsafe { rooted(comm, transfer, names, sys::MPI_Gather_init_c) }
}

pub(crate) fn scatter_init<T: Pod>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Option<Begun>> {
    let names = ["MPI_Scatter_init", "MPI_Scatter_init_c"];
    // SAFETY: `recv` is one block, and at the root `send` is a block for each rank, as `Transfer` has proven.
    unsafe { rooted(comm, transfer, names, sys::MPI_Scatter_init_c) }
}

/// The same from all ranks to all.
type AmongAll = unsafe fn(
    *const c_void,
    MPI_Count,
    MPI_Datatype,
    *mut c_void,
    MPI_Count,
    MPI_Datatype,
    MPI_Comm,
    MPI_Info,
    *mut MPI_Request,
) -> c_int;

/// # Safety
/// `call` is a function of MPI that may have the slices of `transfer`, told how long a block of it is.
unsafe fn among_all<T: Pod>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
    names: [&'static str; 2],
    call: AmongAll,
) -> Result<Option<Begun>> {
    let transfer = transfer.into_inner();
    if !prepares::<T>(names, transfer.block()) {
        return Ok(None);
    }
    let (count, datatype) = (items::<T>(transfer.block()), TypeOf::<T>::datatype());
    let (send, recv) = transfer.into_slices();
    begin_large(names[0], None, |request| {
        // SAFETY: the function may have the slices, by the contract of this one; they last, as `Lasting` says.
        unsafe {
            call(
                standard_send_pointer(send),
                count,
                datatype,
                standard_recv_pointer(recv),
                count,
                datatype,
                comm.canonical,
                sys::MPI_INFO_NULL,
                request,
            )
        }
    })
    .map(Some)
}

pub(crate) fn allgather_init<T: Pod>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Option<Begun>> {
    let names = ["MPI_Allgather_init", "MPI_Allgather_init_c"];
    // SAFETY: `send` is one block and `recv` a block of each rank, as `Transfer` has proven.
    unsafe { among_all(comm, transfer, names, sys::MPI_Allgather_init_c) }
}

pub(crate) fn alltoall_init<T: Pod>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Option<Begun>> {
    let names = ["MPI_Alltoall_init", "MPI_Alltoall_init_c"];
    // SAFETY: `send` and `recv` are a block for each rank, as `Transfer` has proven.
    unsafe { among_all(comm, transfer, names, sys::MPI_Alltoall_init_c) }
}
