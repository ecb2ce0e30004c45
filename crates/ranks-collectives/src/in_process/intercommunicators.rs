//! Between two groups: messages go to the other one, and come from there.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, StartedOp};

use super::arrivals::Arrivals;
use super::bytes::{block_mut, bytes, bytes_mut};
use super::call::{Outcome, RankCall};
use super::fold::{Fold, Own};
use super::folding::Folding;
use super::reduce::Messages;
use crate::arguments::crossing::{Crossing, RootGroup};
use crate::arguments::reducing::Reducing;
use crate::in_flight::stable::Stable;
use crate::ops::Reduction;

pub(super) fn barrier_between(call: &RankCall<'_>) -> Result<()> {
    exchange(call, &[], |_, from| call.receive(from, &mut []))
}

pub(crate) fn bcast_between<T: Pod>(comm: &Comm, crossing: Crossing<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, crossing.operation);
    match crossing.root.unwrap_or(RootGroup::OfThisGroup) {
        RootGroup::This => {
            let mut outcome = Outcome::default();
            for rank in call.others() {
                outcome.note(call.send(rank, bytes(crossing.recv)));
            }
            outcome.result()
        }
        RootGroup::OfThisGroup => Ok(()),
        RootGroup::OfOtherGroup(rank) => call.receive(rank, bytes_mut(crossing.recv)),
    }
}

pub(crate) fn ibcast_between<T: Pod>(
    comm: &Comm,
    crossing: Stable<Crossing<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, crossing.get().operation);
    match crossing.get().root.unwrap_or(RootGroup::OfThisGroup) {
        RootGroup::This => {
            for rank in call.others() {
                call.send(rank, bytes(crossing.get().recv))?;
            }
            Ok(StartedOp::Over)
        }
        RootGroup::OfThisGroup => Ok(StartedOp::Over),
        RootGroup::OfOtherGroup(rank) => {
            let place = crossing
                .map(|crossing| bytes_mut(crossing.recv))
                .into_span();
            Ok(Arrivals::new(&call, vec![(rank, place)]).begun())
        }
    }
}

pub(crate) fn allreduce_between<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    Reducing { transfer, .. }: Reducing<'_, T>,
) -> Result<()> {
    let call = RankCall::of::<T>(comm, transfer.operation());
    let (send, sum) = transfer.into_copied(0..0);
    let mut outcome = Outcome::default();
    for rank in call.others() {
        outcome.note(call.send(rank, bytes(&send)));
    }
    let (taken, theirs) = Messages::of(&call, 0..comm.peers(), size_of_val(sum));
    outcome.also(theirs);
    let fold = Fold {
        call: &call,
        op,
        ranks: 0..comm.peers(),
        own: Own::Nowhere,
    };
    outcome.also(fold.run(sum, 0, &taken));
    outcome.result()
}

pub(crate) fn iallreduce_between<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, reducing.get().transfer.operation());
    let slices = reducing.map(|reducing| reducing.transfer.into_copied(0..0));
    for rank in call.others() {
        call.send(rank, bytes(&slices.get().0))?;
    }
    let place = slices.map(|(_, recv)| bytes_mut(recv)).into_span();
    Ok(Folding::<T, O>::begun(&call, op, None, comm.peers(), place))
}

pub(crate) fn allgather_between<T: Pod>(comm: &Comm, crossing: Crossing<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, crossing.operation);
    let block = crossing.block * size_of::<T>();
    let recv = bytes_mut(crossing.recv);
    exchange(&call, bytes(crossing.send), |call, from| {
        call.receive(from, block_mut(recv, block, from))
    })
}

pub(crate) fn iallgather_between<T: Pod>(
    comm: &Comm,
    crossing: Stable<Crossing<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, crossing.get().operation);
    for rank in call.others() {
        call.send(rank, bytes(crossing.get().send))?;
    }
    let block = crossing.get().block * size_of::<T>();
    let place = crossing
        .map(|crossing| bytes_mut(crossing.recv))
        .into_span();
    let expected = call
        .others()
        .map(|rank| (rank, place.part(rank * block, block)))
        .collect();
    Ok(Arrivals::new(&call, expected).begun())
}

/// Sends the same to every rank of the other group, and receives from each, in the order of ranks.
fn exchange(
    call: &RankCall<'_>,
    send: &[u8],
    mut receive: impl FnMut(&RankCall<'_>, usize) -> Result<()>,
) -> Result<()> {
    let mut outcome = Outcome::default();
    for rank in call.others() {
        outcome.note(call.send(rank, send));
    }
    for rank in call.others() {
        outcome.note(receive(call, rank));
    }
    outcome.result()
}
