//! Broadcast: the root sends to each rank.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::Bytes;
use super::call::Outcome;
use crate::arguments::transfer::Transfer;

pub(crate) fn bcast<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let (call, bytes) = Bytes::of(comm, transfer, 0..0);
    let data = bytes.recv;
    if call.rank() != bytes.root {
        return call.receive(bytes.root, data);
    }
    call.lending(data, |lending| {
        let mut outcome = Outcome::default();
        for rank in call.others() {
            outcome.note(lending.send(rank, 0..data.len()));
        }
        outcome.result()
    })
}
