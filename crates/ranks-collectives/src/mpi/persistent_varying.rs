//! Collectives that the library keeps, of blocks of lengths of their own.
//!
//! Counts that an `int` cannot say go by the large-count functions of MPI 4; where a library has none, that is the error.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Begun, MpiComm as Comm, TypeOf};
use ranks_mpi_sys as sys;

use super::begun::{BothSides, begin_large};
use super::large_varying::{is_in_library, items};
use super::nonblocking_varying::{large, small};
use super::packed::at_the_front;
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::lasting::Lasting;
use crate::varying::{Exchange, Gathering, Scattering};

pub(crate) fn gatherv_init<T: Pod>(
    comm: &Comm,
    gathering: Lasting<Gathering<'_, T>>,
) -> Result<Option<Begun>> {
    const NAME: &str = "MPI_Gatherv_init";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    let gathering = gathering.into_inner();
    let root = gathering.root.number;
    let (send, recv, blocks) = (gathering.send, gathering.recv.slice, gathering.recv.blocks);
    let length = send.map_or(0, <[T]>::len);
    let Some(keep) = small::<T>(blocks) else {
        let (keep, count) = (large::<T>(blocks), items::<T>(length));
        let datatype = TypeOf::<T>::datatype();
        let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
        return begin_large("MPI_Gatherv_init_c", Some(keep), |request| {
            // SAFETY: `send` is one block, and at the root the blocks lie in `recv` and do not overlap, as `Gathering` has proven; slices and arrays last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Gatherv_init_c(
                    standard_send_pointer(send),
                    count,
                    datatype,
                    standard_recv_pointer(recv),
                    counts,
                    displacements,
                    datatype,
                    root,
                    comm.canonical,
                    sys::MPI_INFO_NULL,
                    request,
                )
            }
        })
        .map(Some);
    };
    let (count, datatype) = (TypeOf::<T>::count(length), TypeOf::<T>::datatype());
    let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
    begin_large(NAME, Some(keep), |request| {
        // SAFETY: `send` is one block, and at the root the blocks lie in `recv` and do not overlap, as `Gathering` has proven; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            sys::MPI_Gatherv_init(
                standard_send_pointer(send),
                count,
                datatype,
                standard_recv_pointer(recv),
                counts,
                displacements,
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

pub(crate) fn allgatherv_init<T: Pod>(
    comm: &Comm,
    gathering: Lasting<Gathering<'_, T>>,
) -> Result<Option<Begun>> {
    const NAME: &str = "MPI_Allgatherv_init";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    let gathering = gathering.into_inner();
    let send = gathering.send;
    let (recv, blocks) = at_the_front(gathering.recv.slice, gathering.recv.blocks)?;
    let length = send.map_or(0, <[T]>::len);
    let Some(keep) = small::<T>(&blocks) else {
        let (keep, count) = (large::<T>(&blocks), items::<T>(length));
        let datatype = TypeOf::<T>::datatype();
        let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
        return begin_large("MPI_Allgatherv_init_c", Some(keep), |request| {
            // SAFETY: `send` is one block, and the blocks lie in `recv` and do not overlap, as `Gathering` has proven; slices and arrays last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Allgatherv_init_c(
                    standard_send_pointer(send),
                    count,
                    datatype,
                    standard_recv_pointer(recv),
                    counts,
                    displacements,
                    datatype,
                    comm.canonical,
                    sys::MPI_INFO_NULL,
                    request,
                )
            }
        })
        .map(Some);
    };
    let (count, datatype) = (TypeOf::<T>::count(length), TypeOf::<T>::datatype());
    let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
    begin_large(NAME, Some(keep), |request| {
        // SAFETY: `send` is one block, and the blocks lie in `recv` and do not overlap, as `Gathering` has proven; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            sys::MPI_Allgatherv_init(
                standard_send_pointer(send),
                count,
                datatype,
                standard_recv_pointer(recv),
                counts,
                displacements,
                datatype,
                comm.canonical,
                sys::MPI_INFO_NULL,
                request,
            )
        }
    })
    .map(Some)
}

pub(crate) fn scatterv_init<T: Pod>(
    comm: &Comm,
    scattering: Lasting<Scattering<'_, T>>,
) -> Result<Option<Begun>> {
    const NAME: &str = "MPI_Scatterv_init";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    let scattering = scattering.into_inner();
    let root = scattering.root.number;
    let (send, recv, blocks) = (
        scattering.send.slice,
        scattering.recv,
        scattering.send.blocks,
    );
    let length = recv.as_deref().map_or(0, <[T]>::len);
    let Some(keep) = small::<T>(blocks) else {
        let (keep, count) = (large::<T>(blocks), items::<T>(length));
        let datatype = TypeOf::<T>::datatype();
        let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
        return begin_large("MPI_Scatterv_init_c", Some(keep), |request| {
            // SAFETY: `recv` is one block, and at the root the blocks lie in `send`, as `Scattering` has proven; slices and arrays last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Scatterv_init_c(
                    standard_send_pointer(send),
                    counts,
                    displacements,
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
        .map(Some);
    };
    let (count, datatype) = (TypeOf::<T>::count(length), TypeOf::<T>::datatype());
    let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
    begin_large(NAME, Some(keep), |request| {
        // SAFETY: `recv` is one block, and at the root the blocks lie in `send`, as `Scattering` has proven; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            sys::MPI_Scatterv_init(
                standard_send_pointer(send),
                counts,
                displacements,
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

pub(crate) fn alltoallv_init<T: Pod>(
    comm: &Comm,
    exchange: Lasting<Exchange<'_, T>>,
) -> Result<Option<Begun>> {
    const NAME: &str = "MPI_Alltoallv_init";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    let Exchange { send, recv, .. } = exchange.into_inner();
    let (Some(sent), Some(received)) = (small::<T>(send.blocks), small::<T>(recv.blocks)) else {
        let keep = Box::new(BothSides(large::<T>(send.blocks), large::<T>(recv.blocks)));
        let (sent, received) = (&keep.0, &keep.1);
        let (send_counts, send_displacements) = (sent.counts.as_ptr(), sent.displacements.as_ptr());
        let (recv_counts, recv_displacements) =
            (received.counts.as_ptr(), received.displacements.as_ptr());
        let datatype = TypeOf::<T>::datatype();
        return begin_large("MPI_Alltoallv_init_c", Some(keep), |request| {
            // SAFETY: the blocks lie in `send` and `recv`, and those of `recv` do not overlap, as `Exchange` has proven; slices and arrays last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Alltoallv_init_c(
                    standard_send_pointer(send.slice),
                    send_counts,
                    send_displacements,
                    datatype,
                    standard_recv_pointer(recv.slice),
                    recv_counts,
                    recv_displacements,
                    datatype,
                    comm.canonical,
                    sys::MPI_INFO_NULL,
                    request,
                )
            }
        })
        .map(Some);
    };
    let (send_counts, send_displacements) = (sent.counts.as_ptr(), sent.displacements.as_ptr());
    let (recv_counts, recv_displacements) =
        (received.counts.as_ptr(), received.displacements.as_ptr());
    let datatype = TypeOf::<T>::datatype();
    begin_large(NAME, Some(Box::new(BothSides(sent, received))), |request| {
        // SAFETY: the blocks lie in `send` and `recv`, and those of `recv` do not overlap, as `Exchange` has proven; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            sys::MPI_Alltoallv_init(
                standard_send_pointer(send.slice),
                send_counts,
                send_displacements,
                datatype,
                standard_recv_pointer(recv.slice),
                recv_counts,
                recv_displacements,
                datatype,
                comm.canonical,
                sys::MPI_INFO_NULL,
                request,
            )
        }
    })
    .map(Some)
}
