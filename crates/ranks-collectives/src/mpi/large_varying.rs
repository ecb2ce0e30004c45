//! Blocks of different lengths that are 2³¹ items and more together, on a library without the
//! large-count functions of MPI 4: where all ranks know of them, they travel by `MPI_Alltoallw`
//! with a datatype for each.

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::backend::{MpiComm as Comm, Plain, StartedOp, TypeOf};
use ranks_comm::{Result, SendBuffer};

use super::functions::{Alltoallw, is_in_library};
use super::layouts::{Exchange, begin_exchange, exchange};
use crate::arguments::blocks::Blocks;
use crate::arguments::varying::{Gathering, Scattering};
use crate::in_flight::stable::Stable;

/// Returns `true` if such blocks travel by derived types, as the library has no function of that
/// name for so many items: all ranks say the same, as they have the counts in common.
pub(super) fn is_through_types<T: Pod>(name: &str, blocks: &Blocks) -> bool {
    blocks.are_large(TypeOf::<T>::items()) && !is_in_library(name)
}

pub(super) fn scattered<T: Pod>(comm: &Comm, scattering: Scattering<'_, T>) -> Result<()> {
    exchange::<Alltoallw, T>(comm, of_scatter(comm, scattering)?)
}

pub(super) fn iscattered<T: Pod>(
    comm: &Comm,
    scattering: Stable<Scattering<'_, T>>,
) -> Result<StartedOp> {
    // SAFETY: the exchange has the slices of the scattering, and no others.
    let exchange = unsafe { scattering.proven(|scattering| of_scatter(comm, scattering)) }?;
    begin_exchange::<Alltoallw, T>(comm, exchange, None)
}

/// Gathers to those ranks that `receives` says.
pub(super) fn gathered<T: Pod>(
    comm: &Comm,
    gathering: Gathering<'_, T>,
    receives: impl Fn(usize) -> bool,
) -> Result<()> {
    let copy = own_block(&gathering);
    let mut gather = of_gather(comm, gathering, receives)?;
    if let Some(copy) = &copy {
        gather.send = copy.as_slice();
    }
    exchange::<Alltoallw, T>(comm, gather)
}

/// Gathers to those ranks that `receives` says, and returns at once.
pub(super) fn igathered<T: Pod>(
    comm: &Comm,
    gathering: Stable<Gathering<'_, T>>,
    receives: impl Fn(usize) -> bool,
) -> Result<StartedOp> {
    let copy = own_block(gathering.get());
    // SAFETY: the exchange has the slices of the gathering, and no others.
    let gather = unsafe { gathering.proven(|gathering| of_gather(comm, gathering, receives)) }?;
    begin_exchange::<Alltoallw, T>(comm, gather, copy)
}

/// A copy of the block of this rank, if it is gathered in place.
fn own_block<T: Pod>(gathering: &Gathering<'_, T>) -> Option<Plain<T>> {
    let data = gathering.recv.slice.as_deref();
    let data = data.filter(|_| gathering.send.is_none());
    data.map(|data| Plain::copy(&data[gathering.recv.blocks.range(gathering.me)]))
}

/// This rank's block goes to those ranks that `receives` says.
fn of_gather<'a, T: Pod>(
    comm: &Comm,
    gathering: Gathering<'a, T>,
    receives: impl Fn(usize) -> bool,
) -> Result<Exchange<'a, T, c_int>> {
    let (me, blocks) = (gathering.me, gathering.recv.blocks);
    let (send, recv) = (gathering.send, gathering.recv.slice);
    let own = blocks.counts()[me];
    Exchange::of_blocks(
        comm,
        blocks.len(),
        (send.unwrap_or_default(), |rank| {
            receives(rank).then_some(0..own)
        }),
        (recv.unwrap_or_default(), |rank| {
            receives(me).then(|| blocks.range(rank))
        }),
    )
}

/// The root's blocks go to each rank; in place it keeps its own.
fn of_scatter<'a, T: Pod>(
    comm: &Comm,
    scattering: Scattering<'a, T>,
) -> Result<Exchange<'a, T, c_int>> {
    let (me, root, blocks) = (scattering.me, scattering.root.rank, scattering.send.blocks);
    let (send, recv) = (scattering.send.slice, scattering.recv);
    let own = recv.as_deref().map(|recv| 0..recv.len());
    let is_sent = |rank: usize| me == root && (rank != me || own.is_some());
    Exchange::of_blocks(
        comm,
        blocks.len(),
        (send.unwrap_or_default(), |rank| {
            is_sent(rank).then(|| blocks.range(rank))
        }),
        (recv.unwrap_or_default(), |rank| {
            own.clone().filter(|_| rank == root)
        }),
    )
}
