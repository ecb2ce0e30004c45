//! Reduction: the root combines the contributions in the order of ranks, where they lie.

use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, Taken};

use super::bytes::bytes;
use super::call::RankCall;
use super::fold::{Fold, Own};
use crate::arguments::reducing::Reducing;
use crate::ops::Reduction;

pub(crate) fn reduce<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    Reducing { transfer, .. }: Reducing<'_, T>,
) -> Result<()> {
    let call = RankCall::of::<T>(comm, transfer.operation());
    let root = transfer.root_rank();
    let (send, recv) = transfer.into_slices();
    let recv = recv.unwrap_or_default();
    if call.rank() != root {
        return call.send_whole(root, bytes(send.unwrap_or(recv)));
    }
    let (taken, outcome) = Messages::of(&call, 0..call.size(), size_of_val(recv));
    let fold = Fold::new(&call, op, 0..call.size(), Own::of(send));
    outcome.and(fold.run(recv, 0, &|rank, part, read| taken.read(rank, part, read)))
}

/// A message of each of some ranks, or of the other group's, by rank; none of this one, and of
/// those from which none came that is as long as it must be.
pub(super) struct Messages<'a>(Vec<Option<Taken<'a>>>);

impl<'a> Messages<'a> {
    /// Takes those of `ranks`, which begin with 0, each of so many bytes.
    pub(super) fn of(
        call: &RankCall<'a>,
        ranks: Range<usize>,
        length: usize,
    ) -> (Self, Result<()>) {
        let mut outcome = Ok(());
        let me = (!call.comm.is_between()).then_some(call.rank());
        let mut of = |rank| match call.take(rank, length) {
            Ok(block) => Some(block),
            Err(error) => {
                if outcome.is_ok() {
                    outcome = Err(error);
                }
                None
            }
        };
        let taken = ranks.map(|rank| if Some(rank) == me { None } else { of(rank) });
        let taken = taken.collect();
        (Self(taken), outcome)
    }

    /// Reads a part of one. That one did not come is an error already.
    pub(super) fn read(
        &self,
        rank: usize,
        part: Range<usize>,
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        match self.0.get(rank) {
            Some(Some(block)) => block.read(part, read),
            _ => Ok(()),
        }
    }
}
