//! Blocks of different lengths that are 2³¹ items and more together: the large-count functions of MPI 4.
//!
//! Where a library has none, blocks that all ranks know of travel by `MPI_Alltoallw` with a derived type for each, which
//! says how long the block is and where. Whether they do is the same on all ranks: it follows from the library and from
//! the sum of the counts, which the ranks have in common ([`Blocks::are_large`]). In `MPI_Alltoallv` ranks know of
//! their own blocks alone, so that there is no such way.

use std::any::Any;
use std::borrow::Cow;

use bytemuck::Pod;
use ranks_comm::backend::{Begun, MpiComm as Comm, Plain, TypeOf, check};
use ranks_comm::{Result, SendBuffer};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Aint, MPI_Count};

use super::pointer::{standard_recv_pointer, standard_send_pointer};
use super::typed_blocks::{TypedBlocks, begin_exchange, exchange};
use crate::blocks::Blocks;
use crate::lasting::Lasting;
use crate::varying::{Exchange, Gathering, Scattering};

/// Elements in items of their datatype. What is more than any slice has is a rank's that has no such slice, and not
/// significant there.
pub(super) fn items<T: Pod>(elements: usize) -> MPI_Count {
    MPI_Count::try_from(elements.saturating_mul(TypeOf::<T>::items())).unwrap_or(MPI_Count::MAX)
}

/// Counts and displacements in items.
pub(super) fn arrays<T: Pod>(blocks: &Blocks) -> (Vec<MPI_Count>, Vec<MPI_Aint>) {
    let counts = blocks.counts().iter().map(|&count| items::<T>(count));
    let starts = (0..blocks.len()).map(|rank| items::<T>(blocks.range(rank).start));
    let displacements = starts.map(|start| MPI_Aint::try_from(start).unwrap_or(MPI_Aint::MAX));
    (counts.collect(), displacements.collect())
}

pub(super) fn is_in_library(name: &str) -> bool {
    sys::function(name).is_some_and(sys::Function::is_in_library)
}

pub(super) fn gatherv<T: Pod>(comm: &Comm, me: usize, gathering: Gathering<'_, T>) -> Result<()> {
    const NAME: &str = "MPI_Gatherv_c";
    let root = gathering.root;
    if !is_in_library(NAME) {
        return gathered(comm, me, gathering, |rank| rank == root.rank);
    }
    let (counts, displacements) = arrays::<T>(gathering.recv.blocks);
    let (send, recv) = (gathering.send, gathering.recv.slice);
    // SAFETY: `send` is one block; at the root the blocks lie in `recv` and do not overlap, and elsewhere it is not significant, as `Gathering` has proven; counts and displacements are theirs in items of the datatype.
    let code = unsafe {
        sys::MPI_Gatherv_c(
            standard_send_pointer(send),
            items::<T>(send.map_or(0, <[T]>::len)),
            TypeOf::<T>::datatype(),
            standard_recv_pointer(recv),
            counts.as_ptr(),
            displacements.as_ptr(),
            TypeOf::<T>::datatype(),
            root.number,
            comm.canonical,
        )
    };
    check(code, NAME)
}

pub(super) fn allgatherv<T: Pod>(
    comm: &Comm,
    me: usize,
    gathering: Gathering<'_, T>,
) -> Result<()> {
    const NAME: &str = "MPI_Allgatherv_c";
    if !is_in_library(NAME) {
        return gathered(comm, me, gathering, |_| true);
    }
    let (counts, displacements) = arrays::<T>(gathering.recv.blocks);
    let (send, recv) = (gathering.send, gathering.recv.slice);
    // SAFETY: `send` is one block, and the blocks lie in `recv` and do not overlap, as `Gathering` has proven; counts and displacements are theirs in items of the datatype.
    let code = unsafe {
        sys::MPI_Allgatherv_c(
            standard_send_pointer(send),
            items::<T>(send.map_or(0, <[T]>::len)),
            TypeOf::<T>::datatype(),
            standard_recv_pointer(recv),
            counts.as_ptr(),
            displacements.as_ptr(),
            TypeOf::<T>::datatype(),
            comm.canonical,
        )
    };
    check(code, NAME)
}

pub(super) fn scatterv<T: Pod>(
    comm: &Comm,
    me: usize,
    scattering: Scattering<'_, T>,
) -> Result<()> {
    const NAME: &str = "MPI_Scatterv_c";
    let root = scattering.root;
    let blocks = scattering.send.blocks;
    let (send, recv) = (scattering.send.slice, scattering.recv);
    if !is_in_library(NAME) {
        let (sent, received) = dealt_types(me, root.rank, blocks, send, recv.as_deref())?;
        let (send, recv) = (send.unwrap_or_default(), recv.unwrap_or_default());
        return exchange(comm, (send, &sent), (recv, &received));
    }
    let (counts, displacements) = arrays::<T>(blocks);
    let count = items::<T>(recv.as_deref().map_or(0, <[T]>::len));
    // SAFETY: `recv` is one block; at the root the blocks lie in `send`, and elsewhere it is not significant, as `Scattering` has proven; counts and displacements are theirs in items of the datatype.
    let code = unsafe {
        sys::MPI_Scatterv_c(
            standard_send_pointer(send),
            counts.as_ptr(),
            displacements.as_ptr(),
            TypeOf::<T>::datatype(),
            standard_recv_pointer(recv),
            count,
            TypeOf::<T>::datatype(),
            root.number,
            comm.canonical,
        )
    };
    check(code, NAME)
}

pub(super) fn alltoallv<T: Pod>(comm: &Comm, whole: Exchange<'_, T>) -> Result<()> {
    const NAME: &str = "MPI_Alltoallv_c";
    let (send_counts, send_displacements) = arrays::<T>(whole.send.blocks);
    let (recv_counts, recv_displacements) = arrays::<T>(whole.recv.blocks);
    let (send, recv) = (whole.send.slice, whole.recv.slice);
    // SAFETY: the blocks lie in `send` and `recv`, and those of `recv` do not overlap, as `Exchange` has proven; counts and displacements are theirs in items of the datatype.
    let code = unsafe {
        sys::MPI_Alltoallv_c(
            standard_send_pointer(send),
            send_counts.as_ptr(),
            send_displacements.as_ptr(),
            TypeOf::<T>::datatype(),
            standard_recv_pointer(recv),
            recv_counts.as_ptr(),
            recv_displacements.as_ptr(),
            TypeOf::<T>::datatype(),
            comm.canonical,
        )
    };
    check(code, NAME)
}

/// Gathers to those ranks that `receives` says.
fn gathered<T: Pod>(
    comm: &Comm,
    me: usize,
    gathering: Gathering<'_, T>,
    receives: impl Fn(usize) -> bool,
) -> Result<()> {
    let blocks = gathering.recv.blocks;
    let recv = gathering.recv.slice.unwrap_or_default();
    let send = match gathering.send {
        Some(send) => Cow::Borrowed(send),
        None => Cow::Owned(recv[blocks.range(me)].to_vec()),
    };
    let (sent, received) = gathered_types(me, blocks, &send, recv, receives)?;
    exchange(comm, (&send, &sent), (recv, &received))
}

/// Gathers to those ranks that `receives` says, and returns at once.
pub(super) fn igathered<T: Pod>(
    comm: &Comm,
    me: usize,
    gathering: Lasting<Gathering<'_, T>>,
    receives: impl Fn(usize) -> bool,
) -> Result<Begun> {
    let gathering = gathering.into_inner();
    let blocks = gathering.recv.blocks;
    let recv = gathering.recv.slice.unwrap_or_default();
    let copy = match gathering.send {
        Some(_) => None,
        None => Some(Plain::copy(&recv[blocks.range(me)])),
    };
    let copied = copy.as_ref().map(SendBuffer::as_slice);
    let send = gathering.send.or(copied).unwrap_or_default();
    let (sent, received) = gathered_types(me, blocks, send, recv, receives)?;
    let (send, recv) = (
        standard_send_pointer(Some(send)),
        standard_recv_pointer(Some(recv)),
    );
    let copy = copy.map(|copy| Box::new(copy) as Box<dyn Any + Send>);
    // SAFETY: the blocks lie in slices that last, as `Gathering` and `Lasting` say, or in the copy, which is kept; those that are received do not overlap.
    unsafe { begin_exchange(comm, (send, sent), (recv, received), copy) }
}

/// Scatters, and returns at once.
pub(super) fn iscattered<T: Pod>(
    comm: &Comm,
    me: usize,
    scattering: Lasting<Scattering<'_, T>>,
) -> Result<Begun> {
    let scattering = scattering.into_inner();
    let (root, blocks) = (scattering.root.rank, scattering.send.blocks);
    let (send, recv) = (scattering.send.slice, scattering.recv);
    let (sent, received) = dealt_types(me, root, blocks, send, recv.as_deref())?;
    let (send, recv) = (
        standard_send_pointer(Some(send.unwrap_or_default())),
        standard_recv_pointer(Some(recv.unwrap_or_default())),
    );
    // SAFETY: the blocks lie in slices that last, as `Scattering` and `Lasting` say, and one at most is received.
    unsafe { begin_exchange(comm, (send, sent), (recv, received), None) }
}

/// What each rank sends of `send` to those ranks that `receives` says, and where they put it.
fn gathered_types<T: Pod>(
    me: usize,
    blocks: &Blocks,
    send: &[T],
    recv: &[T],
    receives: impl Fn(usize) -> bool,
) -> Result<(TypedBlocks, TypedBlocks)> {
    let ranks = 0..blocks.len();
    let out = |rank: usize| receives(rank).then_some(0..send.len());
    let here = |rank: usize| receives(me).then(|| blocks.range(rank));
    Ok((
        TypedBlocks::new(ranks.clone().map(out), send)?,
        TypedBlocks::new(ranks.map(here), recv)?,
    ))
}

/// What the root sends to each rank, and where that puts it: nowhere at the root that keeps its own.
fn dealt_types<T: Pod>(
    me: usize,
    root: usize,
    blocks: &Blocks,
    send: Option<&[T]>,
    recv: Option<&[T]>,
) -> Result<(TypedBlocks, TypedBlocks)> {
    let keeps_own = recv.is_none();
    let ranks = 0..blocks.len();
    let length = recv.map_or(0, <[T]>::len);
    let out = |rank: usize| (me == root && !(keeps_own && rank == me)).then(|| blocks.range(rank));
    let here = |rank: usize| (rank == root && !keeps_own).then_some(0..length);
    Ok((
        TypedBlocks::new(ranks.clone().map(out), send.unwrap_or_default())?,
        TypedBlocks::new(ranks.map(here), recv.unwrap_or_default())?,
    ))
}
