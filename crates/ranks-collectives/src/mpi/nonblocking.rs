//! Collectives that return at once and move blocks of one length.
//!
//! The memory of a [`Lasting`] stays until the operation is over, which is what each call here needs besides what its
//! blocking twin does.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Begun, MpiComm as Comm, TypeOf};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::native;

use super::begun::{begin, begin_large};
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

pub(crate) fn igather<T: Pod>(comm: &Comm, transfer: Lasting<Transfer<'_, T>>) -> Result<Begun> {
    let transfer = transfer.into_inner();
    let block = transfer.block();
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    let Some(count) = TypeOf::<T>::small_count(block) else {
        let (count, datatype) = (items::<T>(block), TypeOf::<T>::datatype());
        return begin_large("MPI_Igather_c", None, |request| {
            // SAFETY: `send` is one block, and at the root `recv` is a block of each rank, as `Transfer` has proven, and lasts, as `Lasting` says.
            unsafe {
                sys::MPI_Igather_c(
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
    begin("MPI_Igather", None, |request| {
        // SAFETY: `send` is one block, and at the root `recv` is a block of each rank, as `Transfer` has proven, and lasts, as `Lasting` says.
        unsafe {
            native::MPI_Igather(
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

pub(crate) fn iscatter<T: Pod>(comm: &Comm, transfer: Lasting<Transfer<'_, T>>) -> Result<Begun> {
    let transfer = transfer.into_inner();
    let block = transfer.block();
    let root = transfer.root();
    let (send, recv) = transfer.into_slices();
    let Some(count) = TypeOf::<T>::small_count(block) else {
        let (count, datatype) = (items::<T>(block), TypeOf::<T>::datatype());
        return begin_large("MPI_Iscatter_c", None, |request| {
            // SAFETY: `recv` is one block, and at the root `send` is a block for each rank, as `Transfer` has proven, and lasts, as `Lasting` says.
            unsafe {
                sys::MPI_Iscatter_c(
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
    begin("MPI_Iscatter", None, |request| {
        // SAFETY: `recv` is one block, and at the root `send` is a block for each rank, as `Transfer` has proven, and lasts, as `Lasting` says.
        unsafe {
            native::MPI_Iscatter(
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

pub(crate) fn iallgather<T: Pod>(comm: &Comm, transfer: Lasting<Transfer<'_, T>>) -> Result<Begun> {
    let transfer = transfer.into_inner();
    let block = transfer.block();
    let (send, recv) = transfer.into_slices();
    let Some(count) = TypeOf::<T>::small_count(block) else {
        let (count, datatype) = (items::<T>(block), TypeOf::<T>::datatype());
        return begin_large("MPI_Iallgather_c", None, |request| {
            // SAFETY: `send` is one block and `recv` a block of each rank, as `Transfer` has proven, and lasts, as `Lasting` says.
            unsafe {
                sys::MPI_Iallgather_c(
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
    begin("MPI_Iallgather", None, |request| {
        // SAFETY: `send` is one block and `recv` a block of each rank, as `Transfer` has proven, and lasts, as `Lasting` says.
        unsafe {
            native::MPI_Iallgather(
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

pub(crate) fn ialltoall<T: Pod>(comm: &Comm, transfer: Lasting<Transfer<'_, T>>) -> Result<Begun> {
    let transfer = transfer.into_inner();
    let block = transfer.block();
    let (send, recv) = transfer.into_slices();
    let Some(count) = TypeOf::<T>::small_count(block) else {
        let (count, datatype) = (items::<T>(block), TypeOf::<T>::datatype());
        return begin_large("MPI_Ialltoall_c", None, |request| {
            // SAFETY: `send` and `recv` are a block for each rank, as `Transfer` has proven, and lasts, as `Lasting` says.
            unsafe {
                sys::MPI_Ialltoall_c(
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
    begin("MPI_Ialltoall", None, |request| {
        // SAFETY: `send` and `recv` are a block for each rank, as `Transfer` has proven, and lasts, as `Lasting` says.
        unsafe {
            native::MPI_Ialltoall(
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
