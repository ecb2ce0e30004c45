//! Communication among neighbours that returns at once.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Begun, MpiComm as Comm, TypeOf};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::native;

use super::begun::{BothSides, begin, begin_large};
use super::datatype::datatype;
use super::large::items;
use super::neighbor_order::{Form, slots_for};
use super::neighbors::{large, small};
use super::pointer::{recv_pointer, send_pointer, standard_recv_pointer, standard_send_pointer};
use crate::lasting::Lasting;
use crate::neighbors::Trade;

pub(crate) fn ineighbor_allgather<T: Pod>(
    comm: &Comm,
    trade: Lasting<Trade<'_, T>>,
) -> Result<Begun> {
    let trade = trade.into_inner();
    let (send, recv) = (Some(trade.send.slice), Some(trade.recv.slice));
    let length = send.map_or(0, <[T]>::len);
    let Some(count) = TypeOf::<T>::small_count(length) else {
        let (count, datatype) = (items::<T>(length), TypeOf::<T>::datatype());
        return begin_large("MPI_Ineighbor_allgather_c", None, |request| {
            // SAFETY: `send` is one block and `recv` one of each neighbour, as `Trade` has proven; both last, as `Lasting` says.
            unsafe {
                sys::MPI_Ineighbor_allgather_c(
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
    begin("MPI_Ineighbor_allgather", None, |request| {
        // SAFETY: `send` is one block and `recv` one of each neighbour, as `Trade` has proven; both last, as `Lasting` says.
        unsafe {
            native::MPI_Ineighbor_allgather(
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

pub(crate) fn ineighbor_allgatherv<T: Pod>(
    comm: &Comm,
    trade: Lasting<Trade<'_, T>>,
) -> Result<Begun> {
    let trade = trade.into_inner();
    let (send, recv) = (Some(trade.send.slice), Some(trade.recv.slice));
    let blocks = trade.recv.blocks;
    let length = send.map_or(0, <[T]>::len);
    let small = (TypeOf::<T>::small_count(length), small::<T>(&blocks, None));
    let (Some(count), Some(keep)) = small else {
        let (keep, count) = (large::<T>(&blocks, None), items::<T>(length));
        let datatype = TypeOf::<T>::datatype();
        let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
        return begin_large("MPI_Ineighbor_allgatherv_c", Some(keep), |request| {
            // SAFETY: `send` is one block, and those of the neighbours lie in `recv` and do not overlap, as `Trade` has proven; slices and arrays last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Ineighbor_allgatherv_c(
                    standard_send_pointer(send),
                    count,
                    datatype,
                    standard_recv_pointer(recv),
                    counts,
                    displacements,
                    datatype,
                    comm.canonical,
                    request,
                )
            }
        });
    };
    let datatype = datatype::<T>();
    let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
    begin("MPI_Ineighbor_allgatherv", Some(keep), |request| {
        // SAFETY: `send` is one block, and those of the neighbours lie in `recv` and do not overlap, as `Trade` has proven; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            native::MPI_Ineighbor_allgatherv(
                send_pointer(send),
                count,
                datatype,
                recv_pointer(recv),
                counts,
                displacements,
                datatype,
                comm.native,
                request,
            )
        }
    })
}

pub(crate) fn ineighbor_alltoallv<T: Pod>(
    comm: &Comm,
    trade: Lasting<Trade<'_, T>>,
) -> Result<Begun> {
    let trade = trade.into_inner();
    let slots = slots_for(Form::Nonblocking, trade.around)?;
    let slots = slots.as_deref();
    let (send, recv) = (Some(trade.send.slice), Some(trade.recv.slice));
    let (here, there) = (trade.send.blocks, trade.recv.blocks);
    let (Some(sent), Some(received)) = (small::<T>(&here, None), small::<T>(&there, slots)) else {
        let keep = Box::new(BothSides(
            large::<T>(&here, None),
            large::<T>(&there, slots),
        ));
        let (sent, received) = (&keep.0, &keep.1);
        let (send_counts, send_displacements) = (sent.counts.as_ptr(), sent.displacements.as_ptr());
        let (recv_counts, recv_displacements) =
            (received.counts.as_ptr(), received.displacements.as_ptr());
        let datatype = TypeOf::<T>::datatype();
        return begin_large("MPI_Ineighbor_alltoallv_c", Some(keep), |request| {
            // SAFETY: the blocks lie in `send` and `recv`, and those of `recv` do not overlap, as `Trade` has proven; slices and arrays last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Ineighbor_alltoallv_c(
                    standard_send_pointer(send),
                    send_counts,
                    send_displacements,
                    datatype,
                    standard_recv_pointer(recv),
                    recv_counts,
                    recv_displacements,
                    datatype,
                    comm.canonical,
                    request,
                )
            }
        });
    };
    let (send_counts, send_displacements) = (sent.counts.as_ptr(), sent.displacements.as_ptr());
    let (recv_counts, recv_displacements) =
        (received.counts.as_ptr(), received.displacements.as_ptr());
    let datatype = datatype::<T>();
    let keep = Box::new(BothSides(sent, received));
    begin("MPI_Ineighbor_alltoallv", Some(keep), |request| {
        // SAFETY: the blocks lie in `send` and `recv`, and those of `recv` do not overlap, as `Trade` has proven; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            native::MPI_Ineighbor_alltoallv(
                send_pointer(send),
                send_counts,
                send_displacements,
                datatype,
                recv_pointer(recv),
                recv_counts,
                recv_displacements,
                datatype,
                comm.native,
                request,
            )
        }
    })
}
