//! Reduction to all.
//!
//! A few bytes travel with the round in which all ranks meet, and each rank combines them. Of more,
//! each rank reads the others' where they lie; of many, it combines one part for all, and the ranks
//! read the parts of each other then. Either way elements are combined in the order of ranks.

use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{INLINE, InProcessComm as Comm};

use super::bytes::{bytes, bytes_mut};
use super::call::{Outcome, RankCall};
use super::fold::{Contributions, Fold, Own, PART};
use super::rounds::Step;
use crate::arguments::reducing::Reducing;
use crate::arguments::transfer::Transfer;
use crate::ops::Reduction;

/// The most bytes that every rank combines for itself, in all.
const SMALL: usize = 4 * PART;

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
    let fold = Fold {
        call,
        op,
        ranks: 0..call.size(),
        own: Own::of(send),
    };
    fold.run(recv, 0, &carried).result()
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
    call.comm.lending([(0, own), (own.len(), &[])], || {
        call.round(Step::Allreduce, own.len(), &[])?;
        let fold = Fold {
            call,
            op,
            ranks: 0..call.size(),
            own: Own::Here(&send),
        };
        call.done(fold.run(recv, 0, call))
    })
}

/// Each rank combines one part for all.
fn in_parts<T: Pod, O: Reduction<T>>(
    call: &RankCall<'_>,
    op: &O,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    let (elements, width) = (transfer.block(), size_of::<T>());
    // Not in more parts than are worth the while.
    let longest = elements.div_ceil(call.size()).max(PART / width);
    let part = |rank: usize| {
        let start = rank.saturating_mul(longest).min(elements);
        start..start.saturating_add(longest).min(elements)
    };
    let (mine, length) = (part(call.rank()), elements * width);
    let (send, recv) = transfer.into_slices();
    let (before, rest) = recv.unwrap_or_default().split_at_mut(mine.start);
    let (own, after) = rest.split_at_mut(mine.len());
    let contribution = match send {
        Some(send) => [(0, bytes(send)), (length, &[][..])],
        // In place, nobody else reads the part that this rank replaces.
        None => [(0, bytes(before)), (mine.end * width, bytes(after))],
    };
    call.comm.lending(contribution, || {
        call.round(Step::Allreduce, length, &[])?;
        let fold = Fold {
            call,
            op,
            ranks: 0..call.size(),
            own: Own::of(send.map(|send| &send[mine.clone()])),
        };
        call.done(fold.run(own, mine.start, call))
    })?;
    let own = [(mine.start * width, bytes(own)), (length, &[][..])];
    call.comm.lending(own, || {
        call.round(Step::Ready, length, &[])?;
        let mut outcome = Outcome::default();
        let (mut before, mut after) = (before, after);
        // In another order on each rank, so that not all of them read the same memory at a time.
        for rank in (0..call.size()).filter(|&rank| rank != call.rank()) {
            let part = part(rank);
            let rest = if rank < call.rank() {
                &mut before
            } else {
                &mut after
            };
            let (place, others) = std::mem::take(rest).split_at_mut(part.len());
            *rest = others;
            outcome.note(call.copy_lent(rank, part.start * width, bytes_mut(place)));
        }
        call.done(outcome)
    })
}

impl<F> Contributions for F
where
    F: Fn(usize, Range<usize>, &mut dyn FnMut(&[u8])) -> Result<()>,
{
    fn read(&self, rank: usize, part: Range<usize>, read: &mut dyn FnMut(&[u8])) -> Result<()> {
        self(rank, part, read)
    }
}
