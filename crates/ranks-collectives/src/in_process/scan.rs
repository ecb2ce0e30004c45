//! Reductions over the lower ranks: each rank sends its block to all higher ones, and combines what
//! it gets in order.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::{bytes, bytes_mut};
use super::call::{Call, Outcome};
use super::reduce::combine;
use crate::arguments::reducing::Reducing;
use crate::arguments::transfer::Transfer;
use crate::ops::Reduction;

/// Up to this rank.
pub(crate) fn scan<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    reducing: Reducing<'_, T>,
) -> Result<()> {
    over_lower_ranks(comm, op, reducing.transfer, true)
}

/// Up to the rank before this one. Rank 0 gets nothing, and `recv` stays as it is there.
pub(crate) fn exscan<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    reducing: Reducing<'_, T>,
) -> Result<()> {
    over_lower_ranks(comm, op, reducing.transfer, false)
}

fn over_lower_ranks<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    transfer: Transfer<'_, T>,
    and_own: bool,
) -> Result<()> {
    let call = Call::of::<T>(comm, transfer.operation());
    let own = 0..transfer.block();
    let (send, recv) = transfer.into_copied(own);
    let me = call.rank();
    let mut outcome = Outcome::default();
    for rank in me + 1..call.size() {
        outcome.note(call.send(rank, bytes(&send)));
    }
    let mut contribution = bytemuck::zeroed_vec(send.len());
    for rank in 0..me {
        outcome.note(call.receive(rank, bytes_mut(&mut contribution)));
        outcome.note(combine(&call, op, rank == 0, recv, &contribution));
    }
    if and_own {
        outcome.note(combine(&call, op, me == 0, recv, &send));
    }
    outcome.result()
}
