//! Collectives that return at once and move blocks of one length.
//!
//! The memory of a [`Lasting`] stays until the operation is over, which is what each call here needs besides what its
//! blocking twin does.

use std::ffi::{c_int, c_void};

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Begun, MpiComm as Comm, TypeOf};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Count, MPI_Datatype, MPI_Request, native};

use super::begun::{Cell, begin, begin_large};
use super::datatype::datatype;
use super::large::items;
use super::pointer::{recv_pointer, send_pointer, standard_recv_pointer, standard_send_pointer};
use crate::lasting::Lasting;
use crate::transfer::Transfer;

pub(crate) fn ibarrier(comm: &Comm) -> Result<Begun> {
    begin("MPI_Ibarrier", None, |request| {
        // SAFETY: a barrier has no memory; the request is a place of ours.
        unsafe { native::MPI_Ibarrier(comm.native, request) }
    })
}

pub(crate) fn ibcast<T: Pod>(comm: &Comm, transfer: Lasting<Transfer<'_, T>>) -> Result<Begun> {
    let transfer = transfer.into_inner();
    let block = transfer.block();
    let root = transfer.root();
    let (_, data) = transfer.into_slices();
    let Some(count) = TypeOf::<T>::small_count(block) else {
        let (count, datatype) = (items::<T>(block), TypeOf::<T>::datatype());
        return begin_large("MPI_Ibcast_c", None, |request| {
            // SAFETY: `data` is one block, here and at the root, as `Transfer` has proven, and lasts, as `Lasting` says.
            unsafe {
                sys::MPI_Ibcast_c(
                    standard_recv_pointer(data),
                    count,
                    datatype,
                    root,
                    comm.canonical,
                    request,
                )
            }
        });
    };
    let datatype = datatype::<T>();
    begin("MPI_Ibcast", None, |request| {
        // SAFETY: `data` is one block, here and at the root, as `Transfer` has proven, and lasts, as `Lasting` says.
        unsafe {
            native::MPI_Ibcast(
                recv_pointer(data),
                count,
                datatype,
                root,
                comm.native,
                request,
            )
        }
    })
}

/// A function that moves a block of each rank to or from a root, and its name: with counts, datatypes, communicators and
/// requests of one form.
type Rooted<C, D, M, R> = (
    &'static str,
    unsafe fn(*const c_void, C, D, *mut c_void, C, D, c_int, M, *mut R) -> c_int,
);

/// # Safety
/// `call` and `large` are functions of MPI that may have the slices of `transfer`, told how long a block of it is.
unsafe fn rooted<T: Pod>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
    (name, call): Rooted<c_int, native::Datatype, native::Comm, Cell>,
    (large_name, large): Rooted<MPI_Count, MPI_Datatype, MPI_Comm, MPI_Request>,
) -> Result<Begun> {
    let transfer = transfer.into_inner();
    let block = transfer.block();
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    let Some(count) = TypeOf::<T>::small_count(block) else {
        let (count, datatype) = (items::<T>(block), TypeOf::<T>::datatype());
        return begin_large(large_name, None, |request| {
            // SAFETY: the function may have the slices, by the contract of this one; they last, as `Lasting` says.
            unsafe {
                large(
                    standard_send_pointer(send),
                    count,
                    datatype,
                    standard_recv_pointer(recv),
                    count,
                    datatype,
                    root,
                    comm.canonical,
                    request,
                )
            }
        });
    };
    let datatype = datatype::<T>();
    begin(name, None, |request| {
        // SAFETY: the function may have the slices, by the contract of this one; they last, as `Lasting` says.
        unsafe {
            call(
                send_pointer(send),
                count,
                datatype,
                recv_pointer(recv),
                count,
                datatype,
                root,
                comm.native,
                request,
            )
        }
    })
}

pub(crate) fn igather<T: Pod>(comm: &Comm, transfer: Lasting<Transfer<'_, T>>) -> Result<Begun> {
    // SAFETY: `send` is one block, and at the root `recv` is a block of each rank, as `Transfer` has proven.
    unsafe {
        rooted(
            comm,
            transfer,
            ("MPI_Igather", native::MPI_Igather),
            ("MPI_Igather_c", sys::MPI_Igather_c),
        )
    }
}

pub(crate) fn iscatter<T: Pod>(comm: &Comm, transfer: Lasting<Transfer<'_, T>>) -> Result<Begun> {
    // SAFETY: `recv` is one block, and at the root `send` is a block for each rank, as `Transfer` has proven.
    unsafe {
        rooted(
            comm,
            transfer,
            ("MPI_Iscatter", native::MPI_Iscatter),
            ("MPI_Iscatter_c", sys::MPI_Iscatter_c),
        )
    }
}

/// The same from all ranks to all.
type AmongAll<C, D, M, R> = (
    &'static str,
    unsafe fn(*const c_void, C, D, *mut c_void, C, D, M, *mut R) -> c_int,
);

/// # Safety
/// `call` and `large` are functions of MPI that may have the slices of `transfer`, told how long a block of it is.
unsafe fn among_all<T: Pod>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
    (name, call): AmongAll<c_int, native::Datatype, native::Comm, Cell>,
    (large_name, large): AmongAll<MPI_Count, MPI_Datatype, MPI_Comm, MPI_Request>,
) -> Result<Begun> {
    let transfer = transfer.into_inner();
    let block = transfer.block();
    let (send, recv) = transfer.into_slices();
    let Some(count) = TypeOf::<T>::small_count(block) else {
        let (count, datatype) = (items::<T>(block), TypeOf::<T>::datatype());
        return begin_large(large_name, None, |request| {
            // SAFETY: the function may have the slices, by the contract of this one; they last, as `Lasting` says.
            unsafe {
                large(
                    standard_send_pointer(send),
                    count,
                    datatype,
                    standard_recv_pointer(recv),
                    count,
                    datatype,
                    comm.canonical,
                    request,
                )
            }
        });
    };
    let datatype = datatype::<T>();
    begin(name, None, |request| {
        // SAFETY: the function may have the slices, by the contract of this one; they last, as `Lasting` says.
        unsafe {
            call(
                send_pointer(send),
                count,
                datatype,
                recv_pointer(recv),
                count,
                datatype,
                comm.native,
                request,
            )
        }
    })
}

pub(crate) fn iallgather<T: Pod>(comm: &Comm, transfer: Lasting<Transfer<'_, T>>) -> Result<Begun> {
    // SAFETY: `send` is one block and `recv` a block of each rank, as `Transfer` has proven.
    unsafe {
        among_all(
            comm,
            transfer,
            ("MPI_Iallgather", native::MPI_Iallgather),
            ("MPI_Iallgather_c", sys::MPI_Iallgather_c),
        )
    }
}

pub(crate) fn ialltoall<T: Pod>(comm: &Comm, transfer: Lasting<Transfer<'_, T>>) -> Result<Begun> {
    // SAFETY: `send` and `recv` are a block for each rank, as `Transfer` has proven.
    unsafe {
        among_all(
            comm,
            transfer,
            ("MPI_Ialltoall", native::MPI_Ialltoall),
            ("MPI_Ialltoall_c", sys::MPI_Ialltoall_c),
        )
    }
}
