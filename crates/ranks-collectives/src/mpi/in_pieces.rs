//! Reductions of 2³¹ elements and more for calls that must not wait in the library: where that has no large-count functions that return at
//! once, piece by piece as in `large_reductions`, with all pieces under way together.
//!
//! All of them are begun whatever becomes of one, so that ranks stay in step.

use std::fmt;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Begun, InFlight, Keep, MpiComm as Comm};

use super::large_varying::is_in_library;
use super::nonblocking_reductions::{self as at_once, predefined};
use super::operation::{PIECE, is_small};
use crate::blocks::Blocks;
use crate::lasting::{Kept, Lasting};
use crate::ops::Reduction;
use crate::transfer::Transfer;

pub(crate) fn reduce<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Begun> {
    pieces("MPI_Ireduce_c", transfer, |piece| {
        at_once::ireduce::<T, O>(comm, predefined::<T, O>, piece)
    })
}

pub(crate) fn allreduce<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Begun> {
    pieces("MPI_Iallreduce_c", transfer, |piece| {
        at_once::iallreduce::<T, O>(comm, predefined::<T, O>, piece)
    })
}

pub(crate) fn scan<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Begun> {
    pieces("MPI_Iscan_c", transfer, |piece| {
        at_once::iscan::<T, O>(comm, predefined::<T, O>, piece)
    })
}

pub(crate) fn exscan<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    transfer: Lasting<Transfer<'_, T>>,
) -> Result<Begun> {
    pieces("MPI_Iexscan_c", transfer, |piece| {
        at_once::iexscan::<T, O>(comm, predefined::<T, O>, piece)
    })
}

/// `me` is this rank of `blocks.len()`, which are all of the same length.
pub(crate) fn reduce_scatter_block<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    me: usize,
    transfer: Lasting<Transfer<'_, T>>,
    blocks: &Blocks,
) -> Result<Begun> {
    if is_small::<T>(blocks.end()) || is_in_library("MPI_Ireduce_scatter_block_c") {
        return at_once::ireduce_scatter_block::<T, O>(comm, predefined::<T, O>, transfer);
    }
    to_each::<T, O>(comm, me, transfer, blocks)
}

/// As above, with blocks of different lengths.
pub(crate) fn reduce_scatter<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    me: usize,
    transfer: Lasting<Transfer<'_, T>>,
    blocks: &Blocks,
) -> Result<Begun> {
    if is_small::<T>(blocks.end()) || is_in_library("MPI_Ireduce_scatter_c") {
        return at_once::ireduce_scatter::<T, O>(comm, predefined::<T, O>, transfer, blocks);
    }
    to_each::<T, O>(comm, me, transfer, blocks)
}

/// Begins an operation that goes element by element, at once if the library can.
fn pieces<T: Pod>(
    large: &str,
    transfer: Lasting<Transfer<'_, T>>,
    begin: impl FnMut(Lasting<Transfer<'_, T>>) -> Result<Begun>,
) -> Result<Begun> {
    if is_small::<T>(transfer.get().block()) || is_in_library(large) {
        let mut begin = begin;
        return begin(transfer);
    }
    all(transfer.pieces(PIECE).map(begin))
}

/// Begins a reduction to each rank of the block for it.
fn to_each<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    me: usize,
    transfer: Lasting<Transfer<'_, T>>,
    blocks: &Blocks,
) -> Result<Begun> {
    let mut begun = Vec::with_capacity(blocks.len());
    transfer.reductions(me, blocks, |one, kept| {
        let one = reduce::<T, O>(comm, one);
        begun.push(one.map(|one| keeping(one, kept)));
    });
    all(begun.into_iter())
}

/// One operation of several, each of which is begun. Once one is, that another one is not shows at the end: who gets an error from here
/// takes none to be under way.
fn all(parts: impl Iterator<Item = Result<Begun>>) -> Result<Begun> {
    let both = |one, other| Begun::Both(Box::new((one, other)));
    let mut begun: Result<Begun> = Ok(Begun::Over);
    for part in parts {
        begun = match (begun, part) {
            (Ok(Begun::Over), part) => part,
            (Ok(before), Ok(part)) => Ok(both(before, part)),
            (Ok(before), Err(error)) => Ok(both(before, Begun::Failed(error))),
            (Err(error), Ok(part)) => Ok(both(Begun::Failed(error), part)),
            (Err(first), Err(_)) => Err(first),
        };
    }
    begun
}

/// Memory that the library uses, of several operations.
struct Shared(#[expect(dead_code, reason = "it is kept")] Kept);

impl Keep for Shared {
    fn ended(&mut self, _: &'static str) -> Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// The same, which keeps this.
fn keeping(begun: Begun, kept: Option<&Kept>) -> Begun {
    match (begun, kept) {
        (Begun::Mpi(cell), Some(kept)) => {
            Begun::MpiKeeping(cell, InFlight::new(Box::new(Shared(Kept::clone(kept)))))
        }
        (Begun::Both(both), Some(_)) => {
            let (one, other) = *both;
            Begun::Both(Box::new((keeping(one, kept), keeping(other, kept))))
        }
        // MPI's own operations keep nothing themselves.
        (begun, _) => begun,
    }
}
