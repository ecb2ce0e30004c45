//! Between two groups: messages go to the other one, and come from there.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, StartedOp};

use super::arrivals::Arrivals;
use super::bytes::{block_mut, bytes, bytes_mut};
use super::call::{RankCall, all};
use super::fold::{Fold, Own};
use super::reduce::Messages;
use crate::arguments::crossing::{Crossing, RootGroup};
use crate::arguments::reducing::Reducing;
use crate::in_flight::stable::Stable;
use crate::ops::Reduction;

pub(super) fn barrier_between(call: &RankCall<'_>) -> Result<()> {
    exchange(call, &[], |from| call.receive(from, &mut []))
}

pub(crate) fn bcast_between<T: Pod>(comm: &Comm, crossing: Crossing<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, crossing.operation);
    match crossing.root.unwrap_or(RootGroup::OfThisGroup) {
        RootGroup::This => send_to_all(&call, bytes(crossing.recv)),
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
    let sent = send_to_all(&call, bytes(&send));
    let (taken, theirs) = Messages::of(&call, 0..comm.peers(), size_of_val(sum));
    let fold = Fold::new(&call, op, 0..comm.peers(), Own::Nowhere);
    sent.and(theirs)
        .and(fold.run(sum, 0, &|rank, part, read| taken.read(rank, part, read)))
}

pub(crate) fn allgather_between<T: Pod>(comm: &Comm, crossing: Crossing<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, crossing.operation);
    let block = crossing.block * size_of::<T>();
    let recv = bytes_mut(crossing.recv);
    exchange(&call, bytes(crossing.send), |from| {
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
    receive: impl FnMut(usize) -> Result<()>,
) -> Result<()> {
    send_to_all(call, send).and(all(call.others().map(receive)))
}

fn send_to_all(call: &RankCall<'_>, send: &[u8]) -> Result<()> {
    all(call.others().map(|rank| call.send(rank, send)))
}
