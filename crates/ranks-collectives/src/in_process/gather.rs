//! Gather: the root receives from each rank.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::{Bytes, block_mut};
use super::call::{Outcome, RankCall};
use crate::arguments::transfer::Transfer;

pub(crate) fn gather<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let (call, bytes) = Bytes::of(comm, transfer, comm.rank()..comm.rank() + 1);
    gather_bytes(&call, bytes)
}

fn gather_bytes(call: &RankCall<'_>, bytes: Bytes<'_>) -> Result<()> {
    let Bytes {
        send,
        recv,
        block,
        root,
    } = bytes;
    if call.rank() != root {
        return call.send_whole(root, &send);
    }
    let mut outcome = Outcome::default();
    for rank in call.others() {
        outcome.note(call.receive(rank, block_mut(recv, block, rank)));
    }
    block_mut(recv, block, root).copy_from_slice(&send);
    outcome.result()
}
