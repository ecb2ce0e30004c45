//! Reductions over the lower ranks: each rank sends its block to all higher ones, and combines what
//! it gets in order.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::bytes;
use super::call::{RankCall, all};
use super::fold::{Fold, Own};
use super::reduce::Messages;
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
    let call = RankCall::of::<T>(comm, transfer.operation());
    let own = 0..transfer.block();
    let (send, recv) = transfer.into_copied(own);
    let (me, length) = (call.rank(), size_of_val(recv));
    call.lending(bytes(&send), |lending| {
        let sent = all((me + 1..call.size()).map(|rank| lending.send(rank, 0..length)));
        let (taken, lower) = Messages::of(&call, 0..me, length);
        let fold = Fold::new(
            &call,
            op,
            0..if and_own { me + 1 } else { me },
            Own::Here(&send),
        );
        sent.and(lower)
            .and(fold.run(recv, 0, &|rank, part, read| taken.read(rank, part, read)))
    })
}
