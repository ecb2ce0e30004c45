//! Exchanges: a block goes to each rank, or to each neighbour, and one comes from each.

use std::borrow::Cow;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, StartedOp};

use super::arrivals::Arrivals;
use super::bytes::{Bytes, InBytes};
use super::call::{RankCall, all};
use crate::arguments::neighbors::Trade;
use crate::in_flight::stable::Stable;

pub(crate) fn alltoallv<'a, P: InBytes<'a>>(comm: &Comm, proven: P) -> Result<()> {
    let mut bytes = proven.in_bytes();
    let call = RankCall::of::<P::Element>(comm, bytes.operation);
    bytes.copy_own(call.rank());
    exchange(&call, bytes, among_all(&call), among_all(&call))
}

pub(crate) fn ialltoall<'a, P: InBytes<'a>>(comm: &Comm, proven: Stable<P>) -> Result<StartedOp> {
    let mut bytes = proven.in_bytes();
    let call = RankCall::begun::<P::Element>(comm, bytes.get().operation);
    let me = call.rank();
    bytes.write(move |bytes| bytes.copy_own(me));
    begin_exchange(&call, bytes, among_all(&call), among_all(&call))
}

pub(crate) fn neighbor_exchange<T: Pod>(comm: &Comm, trade: Trade<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, trade.operation);
    let [out, into] = edges(&trade);
    exchange(&call, trade.in_bytes(), out.into_iter(), into.into_iter())
}

pub(crate) fn ineighbor_exchange<T: Pod>(
    comm: &Comm,
    trade: Stable<Trade<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, trade.get().operation);
    let [out, into] = edges(trade.get());
    begin_exchange(&call, trade.in_bytes(), out.into_iter(), into.into_iter())
}

/// Each other rank, with the number of its block.
fn among_all(call: &RankCall<'_>) -> impl Iterator<Item = (usize, usize)> + use<> {
    call.others().map(|rank| (rank, rank))
}

/// The ranks that blocks go to, and those that they come from, with the numbers of the blocks.
fn edges<T: Pod>(trade: &Trade<'_, T>) -> [Vec<(usize, usize)>; 2] {
    let out = trade.outgoing().map(|edge| (edge.to, edge.index));
    let into = trade.incoming().map(|edge| (edge.from, edge.index));
    [out.collect(), into.collect()]
}

fn exchange(
    call: &RankCall<'_>,
    bytes: Bytes<'_>,
    out: impl Iterator<Item = (usize, usize)>,
    into: impl Iterator<Item = (usize, usize)>,
) -> Result<()> {
    let Bytes {
        recv, here, there, ..
    } = bytes;
    let send = match bytes.send {
        Some(send) => Cow::Borrowed(send),
        None => Cow::Owned(recv.to_vec()),
    };
    call.lending(&send, |lending| {
        let sent = all(out.map(|(rank, index)| lending.send(rank, here.of(index))));
        let received = into.map(|(rank, index)| call.receive(rank, &mut recv[there.of(index)]));
        sent.and(all(received))
    })
}

fn begin_exchange(
    call: &RankCall<'_>,
    bytes: Stable<Bytes<'_>>,
    out: impl Iterator<Item = (usize, usize)>,
    into: impl Iterator<Item = (usize, usize)>,
) -> Result<StartedOp> {
    let Bytes {
        send, recv, here, ..
    } = bytes.get();
    let send = send.unwrap_or(recv);
    for (rank, index) in out {
        call.send(rank, &send[here.of(index)])?;
    }
    Ok(Arrivals::of_blocks(call, bytes, into))
}
