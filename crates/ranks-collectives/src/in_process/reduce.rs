//! Reduction: the root combines the contributions in the order of ranks, where they lie.

use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, Taken};

use super::bytes::bytes;
use super::call::{Outcome, RankCall};
use super::fold::{Contributions, Fold, Own};
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
    let (taken, mut outcome) = Messages::of(&call, 0..call.size(), size_of_val(recv));
    let fold = Fold {
        call: &call,
        op,
        ranks: 0..call.size(),
        own: Own::of(send),
    };
    outcome.also(fold.run(recv, 0, &taken));
    outcome.result()
}

/// A message of each of some ranks, or of the other group's, by rank; none of this one, and of
/// those from which none came that is as long as it must be.
pub(super) struct Messages<'a>(Vec<Option<Taken<'a>>>);

impl<'a> Messages<'a> {
    /// Takes those of `ranks`, which begin with 0, each of so many bytes.
    pub(super) fn of(call: &RankCall<'a>, ranks: Range<usize>, length: usize) -> (Self, Outcome) {
        let mut outcome = Outcome::default();
        let me = (!call.comm.is_between()).then_some(call.rank());
        let mut of = |rank| {
            if Some(rank) == me {
                return None;
            }
            let taken = call.take(rank).and_then(|block| {
                if block.bytes() == length {
                    Ok(block)
                } else {
                    Err(call.wrong_length(rank, block.bytes(), length))
                }
            });
            taken.map_err(|error| outcome.note(Err(error))).ok()
        };
        (Self(ranks.map(&mut of).collect()), outcome)
    }
}

impl Contributions for Messages<'_> {
    fn read(&self, rank: usize, part: Range<usize>, read: &mut dyn FnMut(&[u8])) -> Result<()> {
        match self.0.get(rank) {
            Some(Some(block)) => block.read(part, read),
            // That is an error already.
            _ => Ok(()),
        }
    }
}
