//! Reduction of a block for each rank: a reduction to each of them.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use crate::arguments::reducing::Reducing;
use crate::ops::Reduction;

pub(crate) fn reduce_scatter<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    reducing: Reducing<'_, T>,
) -> Result<()> {
    let blocks = reducing.blocks();
    reducing.transfer.reductions(comm.rank(), &blocks, |one| {
        super::reduce(comm, op, Reducing::whole(one))
    })
}
