//! All to all: each rank reads its block of each other one where it lies.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::{Bytes, block_mut, block_of};
use super::call::{Outcome, RankCall};
use super::rounds::Step;
use crate::arguments::transfer::Transfer;

pub(crate) fn alltoall<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let (call, bytes) = Bytes::of(comm, transfer, 0..comm.size());
    alltoall_bytes(&call, bytes)
}

fn alltoall_bytes(call: &RankCall<'_>, bytes: Bytes<'_>) -> Result<()> {
    let Bytes {
        send, recv, block, ..
    } = bytes;
    let me = call.rank();
    call.comm.lending([(0, &send), (send.len(), &[])], || {
        call.round(Step::Alltoall, block, &[])?;
        let mut outcome = Outcome::default();
        for rank in call.others() {
            let place = block_mut(recv, block, rank);
            outcome.note(call.copy_lent(rank, me * block, place));
        }
        block_mut(recv, block, me).copy_from_slice(block_of(&send, block, me));
        call.done(outcome)
    })
}
