//! Blocks of different lengths that are 2³¹ items and more together, on a library without the
//! large-count functions of MPI 4: where all ranks know of them, they travel by `MPI_Alltoallw`
//! with a derived type for each, which says how long the block is and where.

use std::any::Any;
use std::borrow::Cow;

use bytemuck::Pod;
use ranks_comm::backend::{MpiComm as Comm, Plain, StartedOp, TypeOf};
use ranks_comm::{Result, SendBuffer};

use super::functions::is_in_library;
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use super::typed_blocks::{TypedBlocks, begin_exchange, exchange};
use crate::arguments::blocks::Blocks;
use crate::arguments::varying::{Gathering, Scattering};
use crate::in_flight::stable::Stable;

/// Returns `true` if such blocks travel by derived types, as the library has no function of that
/// name for so many items: all ranks say the same, as they have the counts in common.
pub(super) fn is_through_types<T: Pod>(name: &str, blocks: &Blocks) -> bool {
    blocks.are_large(TypeOf::<T>::items()) && !is_in_library(name)
}

/// Scatters.
pub(super) fn scattered<T: Pod>(comm: &Comm, scattering: Scattering<'_, T>) -> Result<()> {
    let (root, blocks) = (scattering.root.rank, scattering.send.blocks);
    let (send, recv) = (scattering.send.slice, scattering.recv);
    let (sent, received) = dealt_types(scattering.me, root, blocks, send, recv.as_deref())?;
    let (send, recv) = (send.unwrap_or_default(), recv.unwrap_or_default());
    exchange(comm, (send, &sent), (recv, &received))
}

/// Gathers to those ranks that `receives` says.
pub(super) fn gathered<T: Pod>(
    comm: &Comm,
    gathering: Gathering<'_, T>,
    receives: impl Fn(usize) -> bool,
) -> Result<()> {
    let (me, blocks) = (gathering.me, gathering.recv.blocks);
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
    gathering: Stable<Gathering<'_, T>>,
    receives: impl Fn(usize) -> bool,
) -> Result<StartedOp> {
    let gathering = gathering.into_inner();
    let (me, blocks) = (gathering.me, gathering.recv.blocks);
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
    // SAFETY: the blocks lie in slices that last, as `Gathering` and `Stable` say, or in the copy,
    // which is kept; those that are received do not overlap.
    unsafe { begin_exchange(comm, (send, sent), (recv, received), copy) }
}

/// Scatters, and returns at once.
pub(super) fn iscattered<T: Pod>(
    comm: &Comm,
    scattering: Stable<Scattering<'_, T>>,
) -> Result<StartedOp> {
    let scattering = scattering.into_inner();
    let (me, root, blocks) = (scattering.me, scattering.root.rank, scattering.send.blocks);
    let (send, recv) = (scattering.send.slice, scattering.recv);
    let (sent, received) = dealt_types(me, root, blocks, send, recv.as_deref())?;
    let (send, recv) = (
        standard_send_pointer(Some(send.unwrap_or_default())),
        standard_recv_pointer(Some(recv.unwrap_or_default())),
    );
    // SAFETY: the blocks lie in slices that last, as `Scattering` and `Stable` say, and one at most
    // is received.
    unsafe { begin_exchange(comm, (send, sent), (recv, received), None) }
}

/// The types of what each rank sends of `send` to those ranks that `receives` says, and of where
/// they put it.
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

/// The types of what the root sends to each rank, and of where that puts it: nowhere at the root
/// that keeps its own.
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
