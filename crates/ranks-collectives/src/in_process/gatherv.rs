//! Gathers of blocks of different lengths: to one rank, and to all.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::call::{Outcome, RankCall};
use super::varying::{Places, received, sent};
use crate::arguments::varying::Gathering;

pub(crate) fn gatherv<T: Pod>(comm: &Comm, gathering: Gathering<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, gathering.operation);
    let root = gathering.root.rank;
    let (recv, places) = received(gathering.recv);
    if call.rank() != root {
        return call.send_whole(root, &sent(gathering.send, recv, 0..0));
    }
    let own = sent(gathering.send, recv, places.place(root));
    collect(&call, &own, recv, &places, Outcome::default())
}

pub(crate) fn allgatherv<T: Pod>(comm: &Comm, gathering: Gathering<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, gathering.operation);
    let (recv, places) = received(gathering.recv);
    let own = sent(gathering.send, recv, places.place(call.rank()));
    call.lending(&own, |lending| {
        let mut outcome = Outcome::default();
        for rank in call.others() {
            outcome.note(lending.send(rank, 0..own.len()));
        }
        collect(&call, &own, recv, &places, outcome)
    })
}

/// Receives from each other rank, and copies this one's `own`.
fn collect(
    call: &RankCall<'_>,
    own: &[u8],
    recv: &mut [u8],
    places: &Places<'_>,
    mut outcome: Outcome,
) -> Result<()> {
    for rank in call.others() {
        outcome.note(call.receive(rank, &mut recv[places.place(rank)]));
    }
    recv[places.place(call.rank())].copy_from_slice(own);
    outcome.result()
}
