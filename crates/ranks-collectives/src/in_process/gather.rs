//! Gathers: to the root, which receives from each rank, and of blocks of different lengths to all.

use std::borrow::Cow;

use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, StartedOp};

use super::arrivals::Arrivals;
use super::bytes::{Bytes, InBytes};
use super::call::{RankCall, all};
use crate::in_flight::stable::Stable;

pub(crate) fn gather<'a, P: InBytes<'a>>(comm: &Comm, proven: P) -> Result<()> {
    let bytes = proven.in_bytes();
    gather_bytes(&RankCall::of::<P::Element>(comm, bytes.operation), bytes)
}

fn gather_bytes(call: &RankCall<'_>, bytes: Bytes<'_>) -> Result<()> {
    if call.rank() != bytes.root {
        return call.send_whole(bytes.root, bytes.send.unwrap_or_default());
    }
    collect(call, bytes)
}

/// To all: each sends its block to each other rank, whatever its length.
pub(crate) fn allgatherv<'a, P: InBytes<'a>>(comm: &Comm, proven: P) -> Result<()> {
    let bytes = proven.in_bytes();
    allgatherv_bytes(&RankCall::of::<P::Element>(comm, bytes.operation), bytes)
}

fn allgatherv_bytes(call: &RankCall<'_>, bytes: Bytes<'_>) -> Result<()> {
    let own = match bytes.send {
        Some(send) => Cow::Borrowed(send),
        None => Cow::Owned(bytes.recv[bytes.there.of(call.rank())].to_vec()),
    };
    call.lending(&own, |lending| {
        let whole = 0..own.len();
        let sent = all(call.others().map(|rank| lending.send(rank, whole.clone())));
        sent.and(collect(call, bytes))
    })
}

/// Receives from each other rank, and puts this one's block in its place.
fn collect(call: &RankCall<'_>, bytes: Bytes<'_>) -> Result<()> {
    let Bytes { recv, there, .. } = bytes;
    let received = call
        .others()
        .map(|rank| call.receive(rank, &mut recv[there.of(rank)]));
    let outcome = all(received);
    if let Some(send) = bytes.send {
        recv[there.of(call.rank())].copy_from_slice(send);
    }
    outcome
}

pub(crate) fn igather<'a, P: InBytes<'a>>(comm: &Comm, proven: Stable<P>) -> Result<StartedOp> {
    let bytes = proven.in_bytes();
    let call = RankCall::begun::<P::Element>(comm, bytes.get().operation);
    let Bytes { send, root, .. } = *bytes.get();
    if call.rank() != root {
        call.send(root, send.unwrap_or_default())?;
        return Ok(StartedOp::Over);
    }
    Ok(collecting(&call, bytes))
}

pub(crate) fn iallgather<'a, P: InBytes<'a>>(comm: &Comm, proven: Stable<P>) -> Result<StartedOp> {
    let bytes = proven.in_bytes();
    let call = RankCall::begun::<P::Element>(comm, bytes.get().operation);
    let Bytes {
        send, recv, there, ..
    } = bytes.get();
    let own = send.unwrap_or_else(|| &recv[there.of(call.rank())]);
    for rank in call.others() {
        call.send(rank, own)?;
    }
    Ok(collecting(&call, bytes))
}

/// A block of each rank, each where it belongs: this one's is there.
fn collecting(call: &RankCall<'_>, mut bytes: Stable<Bytes<'_>>) -> StartedOp {
    let me = call.rank();
    bytes.write(
        move |Bytes {
                  send, recv, there, ..
              }| {
            if let Some(send) = send {
                recv[there.of(me)].copy_from_slice(send);
            }
        },
    );
    Arrivals::of_blocks(call, bytes, call.others().map(|rank| (rank, rank)))
}
