//! Broadcast: the root sends to each rank.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::Bytes;
use super::call::{Call, Outcome};
use crate::arguments::transfer::Transfer;

pub(crate) fn bcast<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let (call, bytes) = Bytes::of(comm, transfer, 0..0);
    bcast_bytes(&call, bytes.recv, bytes.root)
}

pub(super) fn bcast_bytes(call: &Call<'_>, data: &mut [u8], root: usize) -> Result<()> {
    if call.rank() != root {
        return call.receive(root, data);
    }
    let mut outcome = Outcome::default();
    for rank in call.others() {
        outcome.note(call.send(rank, data));
    }
    outcome.result()
}
