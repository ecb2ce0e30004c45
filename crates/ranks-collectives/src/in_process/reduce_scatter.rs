//! Reduction of a block for each rank: a reduction to each of them.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use crate::blocks::Blocks;
use crate::ops::Reduction;
use crate::transfer::Transfer;

pub(crate) fn reduce_scatter<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    transfer: Transfer<'_, T>,
    blocks: &Blocks,
) -> Result<()> {
    transfer.reductions(comm.rank(), blocks, |reduction| {
        super::reduce(comm, op, reduction)
    })
}
