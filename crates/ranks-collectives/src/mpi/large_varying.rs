//! Blocks of different lengths that are 2³¹ items and more together: the large-count functions of MPI 4.
//!
//! Where a library has none, blocks that all ranks know of travel by `MPI_Alltoallw` with a derived type for each, which
//! says how long the block is and where. Whether they do is the same on all ranks: it follows from the library and from
//! the sum of the counts, which the ranks have in common ([`Blocks::are_large`]). In `MPI_Alltoallv` ranks know of
//! their own blocks alone, so that there is no such way.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, TypeOf, check};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Aint, MPI_Count};

use super::pointer::{standard_recv_pointer, standard_send_pointer};
use super::typed_blocks::{TypedBlocks, exchange};
use crate::blocks::Blocks;
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
        let keeps_own = recv.is_none();
        let send = send.unwrap_or_default();
        let recv = recv.unwrap_or_default();
        let out = |rank: usize| {
            (me == root.rank && !(keeps_own && rank == me)).then(|| blocks.range(rank))
        };
        let length = recv.len();
        let here = |rank: usize| (rank == root.rank && !keeps_own).then_some(0..length);
        return through_types(comm, blocks.len(), (send, &out), (recv, &here));
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
    let length = send.len();
    let out = |rank: usize| receives(rank).then_some(0..length);
    let here = |rank: usize| receives(me).then(|| blocks.range(rank));
    through_types(comm, blocks.len(), (&send, &out), (recv, &here))
}

/// What of a slice a rank sends to another one, or gets from it.
type Part<'a> = &'a dyn Fn(usize) -> Option<Range<usize>>;

/// Each of `size` ranks sends the parts of its `send`, and gets those of its `recv`, which do not overlap.
fn through_types<T: Pod>(
    comm: &Comm,
    size: usize,
    (send, out): (&[T], Part<'_>),
    (recv, here): (&mut [T], Part<'_>),
) -> Result<()> {
    let sent = TypedBlocks::new((0..size).map(out), send)?;
    let received = TypedBlocks::new((0..size).map(here), recv)?;
    exchange(comm, (send, &sent), (recv, &received))
}
