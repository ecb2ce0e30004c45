//! Communication among neighbours that the library keeps.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Begun, MpiComm as Comm, TypeOf};
use ranks_mpi_sys as sys;

use super::begun::{BothSides, begin_large};
use super::large::items;
use super::large_varying::is_in_library;
use super::neighbor_order::{Form, slots_for};
use super::neighbors::{large, small};
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::lasting::Lasting;
use crate::neighbors::Trade;

pub(crate) fn neighbor_allgather_init<T: Pod>(
    comm: &Comm,
    trade: Lasting<Trade<'_, T>>,
) -> Result<Option<Begun>> {
    const NAME: &str = "MPI_Neighbor_allgather_init";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    let trade = trade.into_inner();
    let (send, recv) = (Some(trade.send.slice), Some(trade.recv.slice));
    let (count, datatype) = (
        items::<T>(send.map_or(0, <[T]>::len)),
        TypeOf::<T>::datatype(),
    );
    begin_large(NAME, None, |request| {
        // SAFETY: `send` is one block and `recv` one of each neighbour, as `Trade` has proven; both last, as `Lasting` says.
        unsafe {
            sys::MPI_Neighbor_allgather_init_c(
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

pub(crate) fn neighbor_allgatherv_init<T: Pod>(
    comm: &Comm,
    trade: Lasting<Trade<'_, T>>,
) -> Result<Option<Begun>> {
    const NAME: &str = "MPI_Neighbor_allgatherv_init";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    let trade = trade.into_inner();
    let (send, recv) = (Some(trade.send.slice), Some(trade.recv.slice));
    let (blocks, datatype) = (trade.recv.blocks, TypeOf::<T>::datatype());
    let length = send.map_or(0, <[T]>::len);
    let small = (TypeOf::<T>::small_count(length), small::<T>(&blocks, None));
    let (Some(count), Some(keep)) = small else {
        let keep = large::<T>(&blocks, None);
        let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
        return begin_large("MPI_Neighbor_allgatherv_init_c", Some(keep), |request| {
            // SAFETY: `send` is one block, and those of the neighbours lie in `recv` and do not overlap, as `Trade` has proven; slices and arrays last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Neighbor_allgatherv_init_c(
                    standard_send_pointer(send),
                    items::<T>(length),
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
    let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
    begin_large(NAME, Some(keep), |request| {
        // SAFETY: `send` is one block, and those of the neighbours lie in `recv` and do not overlap, as `Trade` has proven; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            sys::MPI_Neighbor_allgatherv_init(
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

pub(crate) fn neighbor_alltoallv_init<T: Pod>(
    comm: &Comm,
    trade: Lasting<Trade<'_, T>>,
) -> Result<Option<Begun>> {
    const NAME: &str = "MPI_Neighbor_alltoallv_init";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    let trade = trade.into_inner();
    let slots = slots_for(Form::Persistent, trade.around)?;
    let slots = slots.as_deref();
    let (send, recv) = (Some(trade.send.slice), Some(trade.recv.slice));
    let (here, there) = (trade.send.blocks, trade.recv.blocks);
    let datatype = TypeOf::<T>::datatype();
    let (Some(sent), Some(received)) = (small::<T>(&here, None), small::<T>(&there, slots)) else {
        let keep = Box::new(BothSides(
            large::<T>(&here, None),
            large::<T>(&there, slots),
        ));
        let (sent, received) = (&keep.0, &keep.1);
        let (send_counts, send_displacements) = (sent.counts.as_ptr(), sent.displacements.as_ptr());
        let (recv_counts, recv_displacements) =
            (received.counts.as_ptr(), received.displacements.as_ptr());
        return begin_large("MPI_Neighbor_alltoallv_init_c", Some(keep), |request| {
            // SAFETY: the blocks lie in `send` and `recv`, and those of `recv` do not overlap, as `Trade` has proven; slices and arrays last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Neighbor_alltoallv_init_c(
                    standard_send_pointer(send),
                    send_counts,
                    send_displacements,
                    datatype,
                    standard_recv_pointer(recv),
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
    begin_large(NAME, Some(Box::new(BothSides(sent, received))), |request| {
        // SAFETY: the blocks lie in `send` and `recv`, and those of `recv` do not overlap, as `Trade` has proven; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            sys::MPI_Neighbor_alltoallv_init(
                standard_send_pointer(send),
                send_counts,
                send_displacements,
                datatype,
                standard_recv_pointer(recv),
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
