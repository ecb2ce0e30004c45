//! Reduction of a block for each rank: each combines its own, which it reads where it lies.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::bytes;
use super::call::RankCall;
use super::fold::{Fold, Own};
use super::rounds::Step;
use crate::arguments::reducing::Reducing;
use crate::ops::Reduction;

pub(crate) fn reduce_scatter<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    reducing: Reducing<'_, T>,
) -> Result<()> {
    let blocks = reducing.blocks();
    let transfer = reducing.transfer;
    let call = RankCall::of::<T>(comm, transfer.operation());
    let mine = blocks.range(call.rank());
    let (send, recv) = transfer.into_copied(0..blocks.end());
    let recv = &mut recv[..mine.len()];
    let whole = bytes(&send);
    comm.lending(whole, || {
        call.round(Step::ReduceScatter, whole.len(), &[])?;
        let fold = Fold::new(&call, op, 0..call.size(), Own::Here(&send[mine.clone()]));
        call.done(fold.run(recv, mine.start, &|rank, part, read| {
            call.read_lent(rank, part, read)
        }))
    })
}
