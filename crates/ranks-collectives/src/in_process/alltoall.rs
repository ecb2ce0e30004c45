//! All to all: each rank sends each other one its block.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::{Bytes, block_mut, block_of};
use super::call::{Call, Outcome};
use crate::arguments::transfer::Transfer;

pub(crate) fn alltoall<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let (call, bytes) = Bytes::of(comm, transfer, 0..comm.size());
    alltoall_bytes(&call, bytes)
}

fn alltoall_bytes(call: &Call<'_>, bytes: Bytes<'_>) -> Result<()> {
    let Bytes {
        send, recv, block, ..
    } = bytes;
    let me = call.rank();
    let mut outcome = Outcome::default();
    for rank in call.others() {
        outcome.note(call.send(rank, block_of(&send, block, rank)));
    }
    block_mut(recv, block, me).copy_from_slice(block_of(&send, block, me));
    for rank in call.others() {
        outcome.note(call.receive(rank, block_mut(recv, block, rank)));
    }
    outcome.result()
}
