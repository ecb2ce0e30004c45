//! Collectives that return at once and move blocks of lengths of their own.
//!
//! Counts that an `int` cannot say go by the large-count functions of MPI 4. Where a library has none, blocks that all ranks know of go in
//! the way that `large_varying` says; otherwise that is the error.

use std::fmt;

use bytemuck::Pod;
use ranks_comm::backend::{Begun, Keep, MpiComm as Comm, Plain, TypeOf};
use ranks_comm::{Result, SendBuffer};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::native;

use super::begun::{Arrays, BothSides, begin, begin_large};
use super::datatype::datatype;
use super::large_varying::{self, arrays, is_in_library, items};
use super::packed::at_the_front;
use super::pointer::{recv_pointer, send_pointer, standard_recv_pointer, standard_send_pointer};
use crate::blocks::Blocks;
use crate::lasting::Lasting;
use crate::varying::{Exchange, Gathering, Scattering};

/// Counts and displacements of both sides, and what is sent where that is a copy.
struct WithCopy<C, D, T: Pod>(BothSides<C, D>, Option<Plain<T>>);

impl<C, D, T: Pod> fmt::Debug for WithCopy<C, D, T>
where
    BothSides<C, D>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("WithCopy");
        shown.field("sides", &self.0);
        shown.field("is_copy", &self.1.is_some()).finish()
    }
}

impl<C, D, T: Pod> Keep for WithCopy<C, D, T>
where
    BothSides<C, D>: Keep,
{
    fn ended(&mut self, _: &'static str) -> Result<()> {
        Ok(())
    }
}

/// Counts and displacements that an `int` can say, in items.
pub(super) fn small<T: Pod>(
    blocks: &Blocks,
) -> Option<Box<Arrays<std::ffi::c_int, std::ffi::c_int>>> {
    let items = TypeOf::<T>::items();
    if blocks.are_large(items) {
        return None;
    }
    let ints = blocks.ints(items)?;
    let (counts, displacements) = ints.split_at(ints.len() / 2);
    Some(Box::new(Arrays {
        counts: counts.to_vec(),
        displacements: displacements.to_vec(),
    }))
}

pub(super) fn large<T: Pod>(blocks: &Blocks) -> Box<Arrays<sys::MPI_Count, sys::MPI_Aint>> {
    let (counts, displacements) = arrays::<T>(blocks);
    Box::new(Arrays {
        counts,
        displacements,
    })
}

/// Whether blocks go by way of derived types: all ranks say the same, as they have the counts in common.
fn is_through_types<T: Pod>(name: &str, blocks: &Blocks) -> bool {
    blocks.are_large(TypeOf::<T>::items()) && !is_in_library(name)
}

pub(crate) fn igatherv<T: Pod>(
    comm: &Comm,
    me: usize,
    gathering: Lasting<Gathering<'_, T>>,
) -> Result<Begun> {
    let Gathering { recv, root, .. } = gathering.get();
    let root = root.rank;
    if is_through_types::<T>("MPI_Igatherv_c", recv.blocks) {
        return large_varying::igathered(comm, me, gathering, |rank| rank == root);
    }
    let gathering = gathering.into_inner();
    let root = gathering.root.number;
    let (send, recv, blocks) = (gathering.send, gathering.recv.slice, gathering.recv.blocks);
    let length = send.map_or(0, <[T]>::len);
    let Some(keep) = small::<T>(blocks) else {
        let (keep, count) = (large::<T>(blocks), items::<T>(length));
        let datatype = TypeOf::<T>::datatype();
        let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
        return begin_large("MPI_Igatherv_c", Some(keep), |request| {
            // SAFETY: `send` is one block, and at the root the blocks lie in `recv` and do not overlap, as `Gathering` has proven; slices and arrays last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Igatherv_c(
                    standard_send_pointer(send),
                    count,
                    datatype,
                    standard_recv_pointer(recv),
                    counts,
                    displacements,
                    datatype,
                    root,
                    comm.canonical,
                    request,
                )
            }
        });
    };
    let (count, datatype) = (TypeOf::<T>::count(length), datatype::<T>());
    let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
    begin("MPI_Igatherv", Some(keep), |request| {
        // SAFETY: `send` is one block, and at the root the blocks lie in `recv` and do not overlap, as `Gathering` has proven; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            native::MPI_Igatherv(
                send_pointer(send),
                count,
                datatype,
                recv_pointer(recv),
                counts,
                displacements,
                datatype,
                root,
                comm.native,
                request,
            )
        }
    })
}

pub(crate) fn iallgatherv<T: Pod>(
    comm: &Comm,
    me: usize,
    gathering: Lasting<Gathering<'_, T>>,
) -> Result<Begun> {
    if is_through_types::<T>("MPI_Iallgatherv_c", gathering.get().recv.blocks) {
        return large_varying::igathered(comm, me, gathering, |_| true);
    }
    let gathering = gathering.into_inner();
    let send = gathering.send;
    let (recv, blocks) = at_the_front(gathering.recv.slice, gathering.recv.blocks)?;
    let length = send.map_or(0, <[T]>::len);
    let Some(keep) = small::<T>(&blocks) else {
        let (keep, count) = (large::<T>(&blocks), items::<T>(length));
        let datatype = TypeOf::<T>::datatype();
        let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
        return begin_large("MPI_Iallgatherv_c", Some(keep), |request| {
            // SAFETY: `send` is one block, and the blocks lie in `recv` and do not overlap, as `Gathering` has proven; slices and arrays last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Iallgatherv_c(
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
    let (count, datatype) = (TypeOf::<T>::count(length), datatype::<T>());
    let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
    begin("MPI_Iallgatherv", Some(keep), |request| {
        // SAFETY: `send` is one block, and the blocks lie in `recv` and do not overlap, as `Gathering` has proven; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            native::MPI_Iallgatherv(
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

pub(crate) fn iscatterv<T: Pod>(
    comm: &Comm,
    me: usize,
    scattering: Lasting<Scattering<'_, T>>,
) -> Result<Begun> {
    if is_through_types::<T>("MPI_Iscatterv_c", scattering.get().send.blocks) {
        return large_varying::iscattered(comm, me, scattering);
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
        return begin_large("MPI_Iscatterv_c", Some(keep), |request| {
            // SAFETY: `recv` is one block, and at the root the blocks lie in `send`, as `Scattering` has proven; slices and arrays last, as `Lasting` says and `keep` does.
            unsafe {
                sys::MPI_Iscatterv_c(
                    standard_send_pointer(send),
                    counts,
                    displacements,
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
    let (count, datatype) = (TypeOf::<T>::count(length), datatype::<T>());
    let (counts, displacements) = (keep.counts.as_ptr(), keep.displacements.as_ptr());
    begin("MPI_Iscatterv", Some(keep), |request| {
        // SAFETY: `recv` is one block, and at the root the blocks lie in `send`, as `Scattering` has proven; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            native::MPI_Iscatterv(
                send_pointer(send),
                counts,
                displacements,
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

/// In place what is sent is a copy. In Open MPI 4.1 `MPI_Ialltoallv` in place does nothing on a rank whose blocks are all empty, and there
/// alone does not count either: whatever returns at once on this communicator waits for ever from then on
/// (<https://github.com/open-mpi/ompi/pull/8059>).
pub(crate) fn ialltoallv<T: Pod>(
    comm: &Comm,
    mut exchange: Lasting<Exchange<'_, T>>,
) -> Result<Begun> {
    let inner = exchange.get_mut();
    let in_place = inner.send.slice.is_none();
    let data = inner.recv.slice.as_deref().filter(|_| in_place);
    let copy = data.map(Plain::copy);
    let Exchange { send, recv, .. } = exchange.into_inner();
    let from = copy.as_ref().map(SendBuffer::as_slice).or(send.slice);
    // Both are made out of slices that last as long as the operation does.
    let (from, sent_from) = (send_pointer(from), standard_send_pointer(from));
    let (Some(sent), Some(received)) = (small::<T>(send.blocks), small::<T>(recv.blocks)) else {
        let sides = BothSides(large::<T>(send.blocks), large::<T>(recv.blocks));
        let keep = Box::new(WithCopy(sides, copy));
        let (sent, received) = (&keep.0.0, &keep.0.1);
        let (send_counts, send_displacements) = (sent.counts.as_ptr(), sent.displacements.as_ptr());
        let (recv_counts, recv_displacements) =
            (received.counts.as_ptr(), received.displacements.as_ptr());
        let datatype = TypeOf::<T>::datatype();
        return begin_large("MPI_Ialltoallv_c", Some(keep), |request| {
            // SAFETY: the blocks lie in `send` or a copy of `recv`, and in `recv`, where they do not overlap, as `Exchange` has proven; slices, copy and arrays last, as `Lasting` says and what is kept does.
            unsafe {
                sys::MPI_Ialltoallv_c(
                    sent_from,
                    send_counts,
                    send_displacements,
                    datatype,
                    standard_recv_pointer(recv.slice),
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
    begin(
        "MPI_Ialltoallv",
        Some(Box::new(WithCopy(BothSides(sent, received), copy))),
        |request| {
            // SAFETY: the blocks lie in `send` or a copy of `recv`, and in `recv`, where they do not overlap, as `Exchange` has proven; slices, copy and arrays last, as `Lasting` says and what is kept does.
            unsafe {
                native::MPI_Ialltoallv(
                    from,
                    send_counts,
                    send_displacements,
                    datatype,
                    recv_pointer(recv.slice),
                    recv_counts,
                    recv_displacements,
                    datatype,
                    comm.native,
                    request,
                )
            }
        },
    )
}
