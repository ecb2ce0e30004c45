//! Gather to all: each rank reads the block of each other one where it lies.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{INLINE, InProcessComm as Comm};

use super::bytes::{block_mut, bytes, bytes_mut};
use super::call::{RankCall, all};
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
    let mut copied = |copy: &dyn Fn(usize, &mut [u8]) -> Result<()>| {
        all(call.others().map(|rank| {
            let place = if rank < me {
                block_mut(before, block, rank)
            } else {
                block_mut(after, block, rank - me - 1)
            };
            copy(rank, place)
        }))
    };
    if block <= INLINE {
        let round = call.round(Step::Allgather, block, own)?;
        return copied(&|rank, place| {
            place.copy_from_slice(&round.carried(rank)[..block]);
            Ok(())
        });
    }
    call.comm.lending(own, || {
        call.round(Step::Allgather, block, &[])?;
        call.done(copied(&|rank, place| call.copy_lent(rank, 0, place)))
    })
}
