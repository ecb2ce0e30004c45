//! Scatters of blocks of lengths of their own.

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, StartedOp, TypeOf};
use ranks_comm::record::Over;

use super::functions::{Moves, Scatterv};
use super::large_varying::{self, is_through_types};
use super::packed;
use super::varying::{self, Ints, SliceInBlocks, Varying};
use crate::arguments::varying::Scattering;
use crate::in_flight::stable::Stable;

/// As the function has it.
fn varying<'a, T>(scattering: Scattering<'a, T>) -> Varying<'a, T> {
    let length = scattering.recv.as_deref().map_or(0, <[T]>::len);
    Varying {
        send: scattering.send.into(),
        recv: SliceInBlocks::block(scattering.recv, length),
        root: scattering.root.number,
    }
}

pub(crate) fn blocking<T: Pod>(comm: &Comm, scattering: Scattering<'_, T>) -> Result<()> {
    let (blocks, items) = (scattering.send.blocks, TypeOf::<T>::items());
    if !blocks.are_large(items) && blocks.ints(items).is_none() {
        return packed::scattered(scattering, |scattering| blocking(comm, scattering));
    }
    if is_through_types::<T>(Scatterv::BLOCKING_C, blocks) {
        return large_varying::scattered(comm, scattering);
    }
    varying::blocking::<Scatterv, T>(comm, varying(scattering))
}

/// Blocks that `int`s can count and place: `ints`, made by the scattering's own blocks for this
/// type.
#[inline(always)]
pub(crate) fn small<T: Pod>(
    comm: impl Over<Target = Comm>,
    ints: &[c_int],
    scattering: Scattering<'_, T>,
) -> Result<()> {
    let (send, recv) = (scattering.send.slice, scattering.recv);
    let count = TypeOf::<T>::count(recv.as_deref().map_or(0, <[T]>::len));
    let (sent, received) = (Ints::Blocks(ints), Ints::Block(count));
    let root = scattering.root.number;
    varying::small::<Scatterv, T>(comm, (send, sent), (recv, received), root)
}

pub(crate) fn nonblocking<T: Pod>(
    comm: &Comm,
    scattering: Stable<Scattering<'_, T>>,
) -> Result<StartedOp> {
    if is_through_types::<T>(Scatterv::NONBLOCKING_C, scattering.get().send.blocks) {
        return large_varying::iscattered(comm, scattering);
    }
    varying::nonblocking::<Scatterv, T>(comm, scattering.map(varying), None)
}

pub(crate) fn init<T: Pod>(
    comm: &Comm,
    scattering: Stable<Scattering<'_, T>>,
) -> Result<Option<StartedOp>> {
    varying::init::<Scatterv, T>(comm, scattering.map(varying))
}
