//! Gather to all: each rank reads the block of each other one where it lies.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{INLINE, InProcessComm as Comm};

use super::bytes::{block_mut, bytes, bytes_mut};
use super::call::{Outcome, RankCall};
use super::rounds::Step;
use crate::arguments::transfer::Transfer;

pub(crate) fn allgather<T: Pod>(comm: &Comm, transfer: Transfer<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, transfer.operation());
    let block = transfer.block() * size_of::<T>();
    let (send, recv) = transfer.into_slices();
    allgather_bytes(
        &call,
        block,
        send.map(bytes),
        bytes_mut(recv.unwrap_or_default()),
    )
}

/// In place, the block that is sent is in `recv` already.
fn allgather_bytes(
    call: &RankCall<'_>,
    block: usize,
    send: Option<&[u8]>,
    recv: &mut [u8],
) -> Result<()> {
    let me = call.rank();
    if let Some(send) = send {
        block_mut(recv, block, me).copy_from_slice(send);
    }
    let (before, rest) = recv.split_at_mut(me * block);
    let (own, after) = rest.split_at_mut(block);
    let mut copied = |copy: &mut dyn FnMut(usize, &mut [u8]) -> Result<()>| {
        let mut outcome = Outcome::default();
        for rank in call.others() {
            let place = if rank < me {
                block_mut(before, block, rank)
            } else {
                block_mut(after, block, rank - me - 1)
            };
            outcome.note(copy(rank, place));
        }
        outcome
    };
    if block <= INLINE {
        let round = call.round(Step::Allgather, block, own)?;
        let outcome = copied(&mut |rank, place| {
            place.copy_from_slice(&round.carried(rank)[..block]);
            Ok(())
        });
        return outcome.result();
    }
    call.comm.lending(own, || {
        call.round(Step::Allgather, block, &[])?;
        call.done(copied(&mut |rank, place| call.copy_lent(rank, 0, place)))
    })
}
