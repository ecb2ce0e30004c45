//! Gather of blocks of different lengths to one rank.

use bytemuck::Pod;
use ranks_comm::backend::TypeOf;
use ranks_comm::{Communicator, Result};

use crate::agreement::{CallSignature, all_ready};
use crate::arguments::blocks::Blocks;
use crate::arguments::root::Root;
use crate::mpi;
use crate::mpi::functions::Gatherv;
use crate::operation::moves;
use crate::operation::varying::counts;
use crate::operation::varying::gathered::Gathered;

const NAME: &str = "MPI_Gatherv";

/// Every rank learns the counts, since all take the same way by them.
pub(crate) fn gatherv<T: Pod>(
    comm: &Communicator,
    send: &[T],
    root: usize,
) -> Result<Option<Gathered<T>>> {
    let ready = Root::new(NAME, comm, root).map(drop);
    all_ready(comm, CallSignature::moving::<T>(NAME).at(root), ready)?;
    let blocks = counts::of_all(comm, send.len())?;
    if comm.rank() != root {
        gatherv_into(comm, send, &mut [], &blocks, root)?;
        return Ok(None);
    }
    let mut data = counts::room_to_receive(comm, NAME, blocks.end())?;
    gatherv_into(comm, send, &mut data, &blocks, root)?;
    Ok(Some(Gathered::new(data, blocks)))
}

#[inline]
pub(crate) fn gatherv_into<T: Pod>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    blocks: &Blocks,
    root: usize,
) -> Result<()> {
    moves::transferred_by::<Gatherv, T, _>(
        comm,
        send.len(),
        (send, recv),
        (blocks, root),
        blocks.kept_ints(TypeOf::<T>::items()),
        |comm, ints, gathering| mpi::gatherings::small::<Gatherv, T>(comm, ints, gathering),
    )
}
