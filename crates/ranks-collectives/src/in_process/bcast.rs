//! Broadcast: the root sends to each rank.

use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, StartedOp};

use super::arrivals::Arrivals;
use super::bytes::{Bytes, InBytes};
use super::call::{RankCall, all};
use crate::in_flight::stable::Stable;

pub(crate) fn bcast<'a, P: InBytes<'a>>(comm: &Comm, proven: P) -> Result<()> {
    let bytes = proven.in_bytes();
    bcast_bytes(&RankCall::of::<P::Element>(comm, bytes.operation), bytes)
}

fn bcast_bytes(call: &RankCall<'_>, bytes: Bytes<'_>) -> Result<()> {
    let data = bytes.recv;
    if call.rank() != bytes.root {
        return call.receive(bytes.root, data);
    }
    call.lending(data, |lending| {
        let whole = 0..data.len();
        all(call.others().map(|rank| lending.send(rank, whole.clone())))
    })
}

pub(crate) fn ibcast<'a, P: InBytes<'a>>(comm: &Comm, proven: Stable<P>) -> Result<StartedOp> {
    let bytes = proven.in_bytes();
    let call = RankCall::begun::<P::Element>(comm, bytes.get().operation);
    let root = bytes.get().root;
    if call.rank() != root {
        let place = bytes.into_span();
        return Ok(Arrivals::new(&call, vec![(root, place)]).begun());
    }
    for rank in call.others() {
        call.send(rank, bytes.get().recv)?;
    }
    Ok(StartedOp::Over)
}
