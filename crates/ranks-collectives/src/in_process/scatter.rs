//! Scatter: the root sends each rank its block.

use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, StartedOp};

use super::arrivals::Arrivals;
use super::bytes::{Bytes, InBytes};
use super::call::{RankCall, all};
use crate::in_flight::stable::Stable;

pub(crate) fn scatter<'a, P: InBytes<'a>>(comm: &Comm, proven: P) -> Result<()> {
    let bytes = proven.in_bytes();
    scatter_bytes(&RankCall::of::<P::Element>(comm, bytes.operation), bytes)
}

fn scatter_bytes(call: &RankCall<'_>, mut bytes: Bytes<'_>) -> Result<()> {
    if call.rank() != bytes.root {
        return call.receive(bytes.root, bytes.recv);
    }
    keep_own(&mut bytes);
    call.lending(bytes.send.unwrap_or_default(), |lending| {
        all(call
            .others()
            .map(|rank| lending.send(rank, bytes.here.of(rank))))
    })
}

pub(crate) fn iscatter<'a, P: InBytes<'a>>(comm: &Comm, proven: Stable<P>) -> Result<StartedOp> {
    let mut bytes = proven.in_bytes();
    let call = RankCall::begun::<P::Element>(comm, bytes.get().operation);
    let Bytes {
        send, here, root, ..
    } = *bytes.get();
    if call.rank() != root {
        let place = bytes.into_span();
        return Ok(Arrivals::new(&call, vec![(root, place)]).begun());
    }
    bytes.write(keep_own);
    for rank in call.others() {
        call.send(rank, &send.unwrap_or_default()[here.of(rank)])?;
    }
    Ok(StartedOp::Over)
}

/// Gives the root its block. In place, that stays where it is.
fn keep_own(bytes: &mut Bytes<'_>) {
    if !bytes.recv.is_empty() {
        let own = &bytes.send.unwrap_or_default()[bytes.here.of(bytes.root)];
        bytes.recv.copy_from_slice(own);
    }
}
