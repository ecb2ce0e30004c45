//! Scatters of blocks of lengths of their own.

use std::borrow::Cow;
use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, StartedOp, TypeOf, check};
use ranks_comm::record::Over;

use super::functions::{Moved, Moves, Named, Native, Scatterv};
use super::large_varying::{self, is_through_types};
use super::packed;
use super::varying::{self, Division, SliceInBlocks, Varying};
use crate::arguments::varying::Scattering;
use crate::in_flight::stable::Stable;

/// As the function has it.
fn varying<'a, T>(scattering: Scattering<'a, T>) -> Varying<'a, T> {
    let length = scattering.recv.as_deref().map_or(0, <[T]>::len);
    Varying {
        send: SliceInBlocks {
            slice: scattering.send.slice,
            division: Division::Blocks(Cow::Borrowed(scattering.send.blocks), None),
        },
        recv: SliceInBlocks {
            slice: scattering.recv,
            division: Division::Block(length),
        },
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
    let (counts, displacements) = ints.split_at(ints.len() / 2);
    let with = Moved::<Native> {
        send_counts: counts.as_ptr(),
        send_displacements: displacements.as_ptr(),
        recv_count: TypeOf::<T>::count(recv.as_deref().map_or(0, <[T]>::len)),
        root: scattering.root.number,
        ..Moved::between(send, recv)
    };
    // SAFETY: `recv` is one block, and the blocks lie in `send`, as `Scattering` has proven; counts
    // and displacements are theirs in items of the datatype.
    let code = unsafe { Scatterv::blocking(with, comm.native) };
    comm.over();
    check(code, Scatterv::BLOCKING)
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
