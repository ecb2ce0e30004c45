//! Gather of blocks of different lengths to all ranks.

use bytemuck::Pod;
use ranks_comm::backend::TypeOf;
use ranks_comm::{Communicator, Result};

use crate::arguments::blocks::Blocks;
use crate::mpi;
use crate::mpi::functions::Allgatherv;
use crate::operation::moves;
use crate::operation::varying::counts;
use crate::operation::varying::gathered::Gathered;

const NAME: &str = "MPI_Allgatherv";

pub(crate) fn allgatherv<T: Pod>(comm: &Communicator, send: &[T]) -> Result<Gathered<T>> {
    let mut gathered = Gathered::default();
    allgatherv_again(comm, send, &mut gathered)?;
    Ok(gathered)
}

pub(crate) fn allgatherv_again<T: Pod>(
    comm: &Communicator,
    send: &[T],
    gathered: &mut Gathered<T>,
) -> Result<()> {
    let blocks = counts::of_all(comm, send.len())?;
    let (recv, blocks) = gathered.make_room(comm, NAME, blocks)?;
    allgatherv_into(comm, send, recv, blocks)
}

#[inline]
pub(crate) fn allgatherv_into<T: Pod>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    blocks: &Blocks,
) -> Result<()> {
    moves::transferred_by::<Allgatherv, T, _>(
        comm,
        send.len(),
        (send, recv),
        blocks,
        blocks.ready_ints(TypeOf::<T>::items()),
        |comm, ints, gathering| mpi::gatherings::small::<Allgatherv, T>(comm, ints, gathering),
    )
}
