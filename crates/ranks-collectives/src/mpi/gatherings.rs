//! Gathers of blocks of lengths of their own: to one rank, and to all.
//!
//! Blocks of 2³¹ items and more together travel by derived types where a library has no large-count
//! function. Whether they do is the same on all ranks: it follows from the library and from the sum
//! of the counts, which the ranks have in common ([`Blocks::are_large`]).
//!
//! [`Blocks::are_large`]: crate::arguments::blocks::Blocks::are_large

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, StartedOp, TypeOf};
use ranks_comm::record::Over;

use super::functions::{Allgatherv, Gatherv, Moves};
use super::large_varying::{self, is_through_types};
use super::packed::{self, at_the_front};
use super::varying::{self, Division, Ints, SliceInBlocks, Varying};
use crate::arguments::varying::Gathering;
use crate::in_flight::stable::Stable;

/// A gather to one rank or to all.
pub(crate) trait Gathers: Moves {
    const TO_ALL: bool;
}

impl Gathers for Gatherv {
    const TO_ALL: bool = false;
}

impl Gathers for Allgatherv {
    const TO_ALL: bool = true;
}

/// Returns `true` if the library puts received blocks where they belong.
fn is_received_well<F: Gathers, T>(gathering: &Gathering<'_, T>) -> bool {
    !F::TO_ALL || gathering.recv.blocks.are_received_well()
}

/// As the function has it.
fn varying<'a, T>(gathering: Gathering<'a, T>) -> Varying<'a, T> {
    let length = gathering.send.map_or(0, <[T]>::len);
    Varying {
        send: SliceInBlocks::block(gathering.send, length),
        recv: gathering.recv.into(),
        root: gathering.root.number,
    }
}

/// The same for a library that puts the only block of one rank at the beginning.
fn to_the_front<F: Gathers, T>(gathering: Gathering<'_, T>) -> Result<Varying<'_, T>> {
    let is_received_well = is_received_well::<F, T>(&gathering);
    let mut varying = varying(gathering);
    if !is_received_well && let Division::Blocks(blocks, _) = &mut varying.recv.division {
        varying.recv.slice = at_the_front(varying.recv.slice, blocks)?;
    }
    Ok(varying)
}

pub(crate) fn blocking<F: Gathers, T: Pod>(comm: &Comm, gathering: Gathering<'_, T>) -> Result<()> {
    let (blocks, items) = (gathering.recv.blocks, TypeOf::<T>::items());
    let is_far = !blocks.are_large(items) && blocks.ints(items).is_none();
    if is_far || !is_received_well::<F, T>(&gathering) {
        return packed::gathered(gathering, |gathering| blocking::<F, T>(comm, gathering));
    }
    if is_through_types::<T>(F::BLOCKING_C, blocks) {
        let root = gathering.root.rank;
        return large_varying::gathered(comm, gathering, |rank| F::TO_ALL || rank == root);
    }
    varying::blocking::<F, T>(comm, varying(gathering))
}

/// Blocks that `int`s can count and place: `ints`, made by the gathering's own blocks for this
/// type.
#[inline(always)]
pub(crate) fn small<F: Gathers, T: Pod>(
    comm: impl Over<Target = Comm>,
    ints: &[c_int],
    gathering: Gathering<'_, T>,
) -> Result<()> {
    let (send, recv) = (gathering.send, gathering.recv.slice);
    let count = TypeOf::<T>::count(send.map_or(0, <[T]>::len));
    let (sent, received) = (Ints::Block(count), Ints::Blocks(ints));
    varying::small::<F, T>(comm, (send, sent), (recv, received), gathering.root.number)
}

pub(crate) fn nonblocking<F: Gathers, T: Pod>(
    comm: &Comm,
    gathering: Stable<Gathering<'_, T>>,
) -> Result<StartedOp> {
    if is_through_types::<T>(F::NONBLOCKING_C, gathering.get().recv.blocks) {
        let root = gathering.get().root.rank;
        return large_varying::igathered(comm, gathering, |rank| F::TO_ALL || rank == root);
    }
    let varying = gathering.try_map(|gathering| to_the_front::<F, T>(gathering))?;
    varying::nonblocking::<F, T>(comm, varying, None)
}

pub(crate) fn init<F: Gathers, T: Pod>(
    comm: &Comm,
    gathering: Stable<Gathering<'_, T>>,
) -> Result<Option<StartedOp>> {
    let varying = gathering.try_map(|gathering| to_the_front::<F, T>(gathering))?;
    varying::init::<F, T>(comm, varying)
}
