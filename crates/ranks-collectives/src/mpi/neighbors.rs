//! Communication among neighbours.
//!
//! Blocks of one length go by the function for blocks of lengths of their own as well: it can be told where to put those of
//! a rank that is a neighbour several times, which libraries let arrive in orders of their own ([`neighbor_order`]).
//!
//! [`neighbor_order`]: super::neighbor_order

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::native;

use super::begun::Arrays;
use super::datatype::datatype;
use super::large::items;
use super::large_varying::arrays;
use super::neighbor_order::{Form, slots_for};
use super::pointer::{recv_pointer, send_pointer, standard_recv_pointer, standard_send_pointer};
use crate::blocks::Blocks;
use crate::neighbors::Trade;

pub(crate) fn neighbor_allgather<T: Pod>(comm: &Comm, trade: Trade<'_, T>) -> Result<()> {
    const NAME: &str = "MPI_Neighbor_allgather";
    let (send, recv) = (Some(trade.send.slice), Some(trade.recv.slice));
    let length = send.map_or(0, <[T]>::len);
    let Some(count) = TypeOf::<T>::small_count(length) else {
        let (count, datatype) = (items::<T>(length), TypeOf::<T>::datatype());
        // SAFETY: `send` is one block and `recv` one of each neighbour, as `Trade` has proven; a block is `count` items of `datatype`.
        let code = unsafe {
            sys::MPI_Neighbor_allgather_c(
                standard_send_pointer(send),
                count,
                datatype,
                standard_recv_pointer(recv),
                count,
                datatype,
                comm.canonical,
            )
        };
        return check(code, "MPI_Neighbor_allgather_c");
    };
    let datatype = datatype::<T>();
    // SAFETY: `send` is one block and `recv` one of each neighbour, as `Trade` has proven; a block is `count` items of `datatype`.
    let code = unsafe {
        native::MPI_Neighbor_allgather(
            send_pointer(send),
            count,
            datatype,
            recv_pointer(recv),
            count,
            datatype,
            comm.native,
        )
    };
    check(code, NAME)
}

pub(crate) fn neighbor_allgatherv<T: Pod>(comm: &Comm, trade: Trade<'_, T>) -> Result<()> {
    let (send, blocks) = (Some(trade.send.slice), trade.recv.blocks);
    let recv = Some(trade.recv.slice);
    let length = send.map_or(0, <[T]>::len);
    let small = (TypeOf::<T>::small_count(length), small::<T>(&blocks, None));
    let (Some(count), Some(received)) = small else {
        let (counts, displacements) = arrays::<T>(&blocks);
        // SAFETY: `send` is one block, and those of the neighbours lie in `recv` and do not overlap, as `Trade` has proven; counts and displacements are theirs in items of the datatype.
        let code = unsafe {
            sys::MPI_Neighbor_allgatherv_c(
                standard_send_pointer(send),
                items::<T>(length),
                TypeOf::<T>::datatype(),
                standard_recv_pointer(recv),
                counts.as_ptr(),
                displacements.as_ptr(),
                TypeOf::<T>::datatype(),
                comm.canonical,
            )
        };
        return check(code, "MPI_Neighbor_allgatherv_c");
    };
    let datatype = datatype::<T>();
    // SAFETY: `send` is one block, and those of the neighbours lie in `recv` and do not overlap, as `Trade` has proven; counts and displacements are theirs in items of `datatype`.
    let code = unsafe {
        native::MPI_Neighbor_allgatherv(
            send_pointer(send),
            count,
            datatype,
            recv_pointer(recv),
            received.counts.as_ptr(),
            received.displacements.as_ptr(),
            datatype,
            comm.native,
        )
    };
    check(code, "MPI_Neighbor_allgatherv")
}

pub(crate) fn neighbor_alltoallv<T: Pod>(comm: &Comm, trade: Trade<'_, T>) -> Result<()> {
    let slots = slots_for(Form::Blocking, trade.around)?;
    let slots = slots.as_deref();
    let (send, recv) = (Some(trade.send.slice), Some(trade.recv.slice));
    let (here, there) = (trade.send.blocks, trade.recv.blocks);
    let (Some(sent), Some(received)) = (small::<T>(&here, None), small::<T>(&there, slots)) else {
        let (sent, received) = (large::<T>(&here, None), large::<T>(&there, slots));
        // SAFETY: the blocks lie in `send` and `recv`, and those of `recv` do not overlap, as `Trade` has proven; counts and displacements are theirs in items of the datatype.
        let code = unsafe {
            sys::MPI_Neighbor_alltoallv_c(
                standard_send_pointer(send),
                sent.counts.as_ptr(),
                sent.displacements.as_ptr(),
                TypeOf::<T>::datatype(),
                standard_recv_pointer(recv),
                received.counts.as_ptr(),
                received.displacements.as_ptr(),
                TypeOf::<T>::datatype(),
                comm.canonical,
            )
        };
        return check(code, "MPI_Neighbor_alltoallv_c");
    };
    let datatype = datatype::<T>();
    // SAFETY: the blocks lie in `send` and `recv`, and those of `recv` do not overlap, as `Trade` has proven; counts and displacements are theirs in items of `datatype`.
    let code = unsafe {
        native::MPI_Neighbor_alltoallv(
            send_pointer(send),
            sent.counts.as_ptr(),
            sent.displacements.as_ptr(),
            datatype,
            recv_pointer(recv),
            received.counts.as_ptr(),
            received.displacements.as_ptr(),
            datatype,
            comm.native,
        )
    };
    check(code, "MPI_Neighbor_alltoallv")
}

/// Counts and displacements in items, of the blocks in this order; `None` if an `int` cannot say them.
pub(super) fn small<T: Pod>(
    blocks: &Blocks,
    slots: Option<&[usize]>,
) -> Option<Box<Arrays<c_int, c_int>>> {
    let ints = blocks.ints(TypeOf::<T>::items())?;
    let (counts, displacements) = ints.split_at(ints.len() / 2);
    Some(Box::new(Arrays {
        counts: in_slots(counts, slots),
        displacements: in_slots(displacements, slots),
    }))
}

/// The same for any length.
pub(super) fn large<T: Pod>(
    blocks: &Blocks,
    slots: Option<&[usize]>,
) -> Box<Arrays<sys::MPI_Count, sys::MPI_Aint>> {
    let (counts, displacements) = arrays::<T>(blocks);
    Box::new(Arrays {
        counts: in_slots(&counts, slots),
        displacements: in_slots(&displacements, slots),
    })
}

/// What each slot of the library is, by the block that it has to be.
fn in_slots<N: Copy>(of_blocks: &[N], slots: Option<&[usize]>) -> Vec<N> {
    match slots {
        None => of_blocks.to_vec(),
        Some(slots) => slots.iter().map(|&block| of_blocks[block]).collect(),
    }
}
