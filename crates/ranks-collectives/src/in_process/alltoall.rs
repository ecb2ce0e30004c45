//! All to all: each rank reads its block of each other one where it lies.

use std::borrow::Cow;

use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::{Bytes, InBytes};
use super::call::{RankCall, all};
use super::rounds::Step;

pub(crate) fn alltoall<'a, P: InBytes<'a>>(comm: &Comm, proven: P) -> Result<()> {
    let bytes = proven.in_bytes();
    alltoall_bytes(&RankCall::of::<P::Element>(comm, bytes.operation), bytes)
}

fn alltoall_bytes(call: &RankCall<'_>, mut bytes: Bytes<'_>) -> Result<()> {
    let own = bytes.here.of(call.rank());
    let send = match bytes.send {
        Some(send) => Cow::Borrowed(send),
        None => Cow::Owned(bytes.recv.to_vec()),
    };
    call.comm.lending(&send, || {
        call.round(Step::Alltoall, own.len(), &[])?;
        let outcome = all(call.others().map(|rank| {
            let place = &mut bytes.recv[bytes.there.of(rank)];
            call.copy_lent(rank, own.start, place)
        }));
        bytes.copy_own(call.rank());
        call.done(outcome)
    })
}
