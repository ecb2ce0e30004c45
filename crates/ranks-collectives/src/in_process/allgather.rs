//! Gather to all: each rank sends its block to each other one.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::{Bytes, block_mut};
use super::call::{Call, Outcome};
use crate::arguments::transfer::Transfer;

pub(crate) fn allgather<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let (call, bytes) = Bytes::of(comm, transfer, comm.rank()..comm.rank() + 1);
    allgather_bytes(&call, bytes)
}

fn allgather_bytes(call: &Call<'_>, bytes: Bytes<'_>) -> Result<()> {
    let Bytes {
        send, recv, block, ..
    } = bytes;
    let mut outcome = Outcome::default();
    for rank in call.others() {
        outcome.note(call.send(rank, &send));
    }
    block_mut(recv, block, call.rank()).copy_from_slice(&send);
    for rank in call.others() {
        outcome.note(call.receive(rank, block_mut(recv, block, rank)));
    }
    outcome.result()
}
