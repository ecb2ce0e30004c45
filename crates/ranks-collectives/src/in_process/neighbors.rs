//! Communication among neighbours: each sends its blocks, and receives those for it.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, StartedOp};

use super::arrivals::Arrivals;
use super::bytes::{bytes, bytes_mut};
use super::call::{Outcome, RankCall};
use super::varying::Places;
use crate::arguments::neighbors::Trade;
use crate::in_flight::stable::Stable;

pub(crate) fn neighbor_exchange<T: Pod>(comm: &Comm, trade: Trade<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, trade.operation);
    call.lending(bytes(trade.send.slice), |lending| {
        let mut outcome = Outcome::default();
        let here = Places::of::<T>(&trade.send.blocks);
        for edge in trade.outgoing() {
            outcome.note(lending.send(edge.to, here.place(edge.index)));
        }
        let incoming = trade.incoming();
        let there = Places::of::<T>(&trade.recv.blocks);
        let recv = bytes_mut(trade.recv.slice);
        for edge in incoming {
            outcome.note(call.receive(edge.from, &mut recv[there.place(edge.index)]));
        }
        outcome.result()
    })
}

pub(crate) fn ineighbor_exchange<T: Pod>(
    comm: &Comm,
    trade: Stable<Trade<'_, T>>,
) -> Result<StartedOp> {
    let (operation, incoming) = (trade.get().operation, trade.get().incoming());
    let call = RankCall::begun::<T>(comm, operation);
    let send = bytes(trade.get().send.slice);
    let here = Places::of::<T>(&trade.get().send.blocks);
    for edge in trade.get().outgoing() {
        call.send(edge.to, &send[here.place(edge.index)])?;
    }
    let blocks = trade.get().recv.blocks.clone();
    let there = Places::of::<T>(&blocks);
    let whole = trade.map(|trade| bytes_mut(trade.recv.slice)).into_span();
    let expected = incoming
        .into_iter()
        .map(|edge| {
            let place = there.place(edge.index);
            (edge.from, whole.part(place.start, place.len()))
        })
        .collect();
    Ok(Arrivals::new(&call, expected).begun())
}
