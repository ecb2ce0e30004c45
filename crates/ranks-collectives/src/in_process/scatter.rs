//! Scatter: the root sends each rank its block.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::{Bytes, block_of};
use super::call::{Outcome, RankCall};
use crate::arguments::transfer::Transfer;

pub(crate) fn scatter<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let (call, bytes) = Bytes::of(comm, transfer, 0..0);
    scatter_bytes(&call, bytes)
}

fn scatter_bytes(call: &RankCall<'_>, bytes: Bytes<'_>) -> Result<()> {
    let Bytes {
        send,
        recv,
        block,
        root,
    } = bytes;
    if call.rank() != root {
        return call.receive(root, recv);
    }
    call.lending(&send, |lending| {
        let mut outcome = Outcome::default();
        for rank in call.others() {
            outcome.note(lending.send(rank, rank * block..(rank + 1) * block));
        }
        // In place, the root's own block stays where it is.
        if !recv.is_empty() {
            recv.copy_from_slice(block_of(&send, block, root));
        }
        outcome.result()
    })
}
