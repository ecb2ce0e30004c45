//! Communication among neighbours: each sends its blocks, and receives those for it.

use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, StartedOp};

use super::arrivals::Arrivals;
use super::bytes::{bytes, bytes_mut};
use super::call::{Outcome, RankCall};
use crate::arguments::neighbors::{Edge, Parts, Trade};
use crate::in_flight::stable::Stable;

/// The place of the block of an edge, in bytes.
fn place<T>(parts: Parts<'_>, edge: Edge) -> Range<usize> {
    let (place, width) = (parts.place(edge.index), size_of::<T>());
    place.start * width..place.end * width
}

pub(crate) fn neighbor_exchange<T: Pod>(comm: &Comm, trade: Trade<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, trade.operation);
    call.lending(bytes(trade.send.slice), |lending| {
        let mut outcome = Outcome::default();
        for edge in trade.outgoing() {
            let place = place::<T>(trade.send.blocks, edge);
            outcome.note(lending.send(edge.to, place));
        }
        let (incoming, there): (Vec<Edge>, _) = (trade.incoming().collect(), trade.recv.blocks);
        let recv = bytes_mut(trade.recv.slice);
        for edge in incoming {
            outcome.note(call.receive(edge.from, &mut recv[place::<T>(there, edge)]));
        }
        outcome.result()
    })
}

pub(crate) fn ineighbor_exchange<T: Pod>(
    comm: &Comm,
    trade: Stable<Trade<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, trade.get().operation);
    let send = bytes(trade.get().send.slice);
    for edge in trade.get().outgoing() {
        call.send(edge.to, &send[place::<T>(trade.get().send.blocks, edge)])?;
    }
    let incoming: Vec<Edge> = trade.get().incoming().collect();
    let there = trade.get().recv.blocks;
    let whole = trade.map(|trade| bytes_mut(trade.recv.slice)).into_span();
    let expected = incoming
        .into_iter()
        .map(|edge| {
            let place = place::<T>(there, edge);
            (edge.from, whole.part(place.start, place.len()))
        })
        .collect();
    Ok(Arrivals::new(&call, expected).begun())
}
