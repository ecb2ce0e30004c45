//! Reduction to all.
//!
//! A few bytes travel with the round in which all ranks meet, and each rank combines them. Of more,
//! each rank reads the others' where they lie; of many, it combines one part and writes it to the
//! results of all. Either way elements are combined in the order of ranks.

use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{INLINE, InProcessComm as Comm};

use super::bytes::{bytes, bytes_mut};
use super::call::RankCall;
use super::fold::{Fold, Own};
use super::rounds::Step;
use crate::arguments::reducing::Reducing;
use crate::arguments::transfer::Transfer;
use crate::ops::Reduction;

/// The most bytes that every rank combines for itself, in all.
const SMALL: usize = 128 * 1024;

/// The fewest bytes that are a part of their own.
const LEAST: usize = 32 * 1024;

pub(crate) fn allreduce<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    Reducing { transfer, .. }: Reducing<'_, T>,
) -> Result<()> {
    let call = RankCall::of::<T>(comm, transfer.operation());
    let length = transfer.block() * size_of::<T>();
    if length <= INLINE {
        carried(&call, op, transfer)
    } else if length.saturating_mul(call.size()) <= SMALL {
        by_each(&call, op, transfer)
    } else {
        in_parts(&call, op, transfer)
    }
}

/// All of it travels with the round.
fn carried<T: Pod, O: Reduction<T>>(
    call: &RankCall<'_>,
    op: &O,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    let (send, recv) = transfer.into_slices();
    let recv = recv.unwrap_or_default();
    let own = bytes(send.unwrap_or(recv));
    let round = call.round(Step::Allreduce, own.len(), own)?;
    let carried = |rank: usize, part: Range<usize>, read: &mut dyn FnMut(&[u8])| {
        read(&round.carried(rank)[part]);
        Ok(())
    };
    let fold = Fold::new(call, op, 0..call.size(), Own::of(send));
    fold.run(recv, 0, &carried)
}

/// Every rank reads all of it.
fn by_each<T: Pod, O: Reduction<T>>(
    call: &RankCall<'_>,
    op: &O,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    let whole = 0..transfer.block();
    let (send, recv) = transfer.into_copied(whole);
    let own = bytes(&send);
    call.comm.lending(own, || {
        call.round(Step::Allreduce, own.len(), &[])?;
        let fold = Fold::new(call, op, 0..call.size(), Own::Here(&send));
        call.done(fold.run(recv, 0, &|rank, part, read| {
            call.read_lent(rank, part, read)
        }))
    })
}

/// Each rank combines one part for all.
///
/// In place, contributions lie in the memory of the result: the part that a rank combines is read
/// and written by that rank alone.
fn in_parts<T: Pod, O: Reduction<T>>(
    call: &RankCall<'_>,
    op: &O,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    let (elements, width) = (transfer.block(), size_of::<T>());
    // Not in more parts than are worth the while.
    let longest = elements.div_ceil(call.size()).max(LEAST / width);
    let (me, comm, length) = (call.rank(), call.comm, elements * width);
    let start = me.saturating_mul(longest).min(elements);
    let (send, recv) = transfer.into_slices();
    let mut parts: Vec<&mut [T]> = recv.unwrap_or_default().chunks_mut(longest).collect();
    let own = parts.get_mut(me).map(std::mem::take).unwrap_or_default();
    let lent = send.map_or(&[][..], bytes);
    comm.lending(lent, || {
        comm.lending_places(parts.into_iter().map(bytes_mut), || {
            call.round(Step::Allreduce, length, &[])?;
            let place = |part: Range<usize>| part.start - start * width..part.end - start * width;
            let read = |rank: usize, part: Range<usize>, read: &mut dyn FnMut(&[u8])| {
                if send.is_some() {
                    call.read_lent(rank, part, read)
                } else {
                    let read = |bytes: &mut [u8]| read(bytes);
                    comm.work_on_place(call.operation(), rank, me, place(part), read)
                }
            };
            let fold = Fold::new(
                call,
                op,
                0..call.size(),
                Own::of(send.map(|send| &send[start..start + own.len()])),
            );
            let others = (0..call.size()).filter(|&rank| rank != me);
            let written = |part: Range<usize>, sum: &[u8]| {
                others.clone().try_for_each(|rank| {
                    let write = |bytes: &mut [u8]| bytes.copy_from_slice(sum);
                    comm.work_on_place(call.operation(), rank, me, place(part.clone()), write)
                })
            };
            call.done(fold.run_and(own, start, &read, written))
        })
    })
}
