//! Elements that layouts take, as copies.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, RawSlice, Spread, StartedOp};
use ranks_comm::layout::Layout;

use super::arrivals::Arrivals;
use super::bytes::bytes_mut;
use super::call::RankCall;
use crate::arguments::layouts::{Layouts, Pattern};
use crate::arguments::neighbors::Trade;
use crate::in_flight::stable::Stable;

pub(crate) fn alltoallw<T: Pod>(comm: &Comm, pattern: Pattern<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, pattern.operation);
    let ((send, here), (recv, there)) = (pattern.send, pattern.recv);
    let out = here.layouts().iter().enumerate();
    let into = there.layouts().iter().enumerate();
    exchange(&call, (send, out), (recv, into))
}

pub(crate) fn ialltoallw<T: Pod>(
    comm: &Comm,
    pattern: Stable<Pattern<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, pattern.get().operation);
    let ((send, here), there) = (pattern.get().send, pattern.get().recv.1);
    let out = here.layouts().iter().enumerate();
    let into = there.layouts().iter().enumerate();
    let recv = pattern.map(|pattern| bytes_mut(pattern.recv.0)).into_span();
    begin_exchange(&call, (send, out), (recv, into))
}

pub(crate) fn neighbor_alltoallw<T: Pod>(comm: &Comm, trade: Trade<'_, T, &Layouts>) -> Result<()> {
    let call = RankCall::of::<T>(comm, trade.operation);
    let [out, into] = edges(&trade).map(Vec::into_iter);
    exchange(&call, (trade.send.slice, out), (trade.recv.slice, into))
}

pub(crate) fn ineighbor_alltoallw<T: Pod>(
    comm: &Comm,
    trade: Stable<Trade<'_, T, &Layouts>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, trade.get().operation);
    let send = trade.get().send.slice;
    let [out, into] = edges(trade.get()).map(Vec::into_iter);
    let recv = trade.map(|trade| bytes_mut(trade.recv.slice)).into_span();
    begin_exchange(&call, (send, out), (recv, into))
}

/// The ranks that parts go to, and those that they come from, with the layouts of the parts.
fn edges<'l, T: Pod>(trade: &Trade<'_, T, &'l Layouts>) -> [Vec<(usize, &'l Layout)>; 2] {
    let (here, there) = (trade.send.blocks.layouts(), trade.recv.blocks.layouts());
    let out = trade.outgoing().map(|edge| (edge.to, &here[edge.index]));
    let into = trade.incoming().map(|edge| (edge.from, &there[edge.index]));
    [out.collect(), into.collect()]
}

/// Sends what goes to each rank, and receives what comes from each.
fn exchange<'l, T: Pod>(
    call: &RankCall<'_>,
    (send, out): (&[T], impl Iterator<Item = (usize, &'l Layout)>),
    (recv, into): (&mut [T], impl Iterator<Item = (usize, &'l Layout)>),
) -> Result<()> {
    let mut outcome = Ok(());
    let mut payload = Vec::new();
    for (rank, layout) in out {
        payload.clear();
        layout.of(send)?.gather(call.operation(), &mut payload)?;
        outcome = outcome.and(call.send(rank, &payload));
    }
    for (rank, layout) in into {
        let mut place = layout.of_mut(recv)?;
        payload.clear();
        payload.resize(place.bytes(), 0);
        let received = call.receive(rank, &mut payload);
        outcome = outcome.and(received.map(|()| place.scatter(&payload)));
    }
    outcome
}

/// Sends what goes to each rank, and lets what comes from each arrive later.
fn begin_exchange<'l, T: Pod>(
    call: &RankCall<'_>,
    (send, out): (&[T], impl Iterator<Item = (usize, &'l Layout)>),
    (recv, into): (RawSlice, impl Iterator<Item = (usize, &'l Layout)>),
) -> Result<StartedOp> {
    let mut payload = Vec::new();
    for (rank, layout) in out {
        payload.clear();
        layout.of(send)?.gather(call.operation(), &mut payload)?;
        call.send(rank, &payload)?;
    }
    let expected: Vec<(usize, Spread)> = into
        .map(|(rank, layout)| (rank, Spread::of::<T>(recv, layout)))
        .collect();
    Ok(Arrivals::new(call, expected).begun())
}
