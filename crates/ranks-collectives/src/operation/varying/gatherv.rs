//! Gather of blocks of different lengths to one rank.

use bytemuck::Pod;
use ranks_comm::backend::TypeOf;
use ranks_comm::record::{self, Kind};
use ranks_comm::{Communicator, Result};

use crate::agreement::{CallSignature, all_ready};
use crate::arguments::blocks::Blocks;
use crate::arguments::varying::Gathering;
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
    let ready = counts::check_root(NAME, comm, root);
    all_ready(comm, CallSignature::moving::<T>(NAME).at(root), ready)?;
    let blocks = counts::of_all(comm, send.len())?;
    if comm.rank() != root {
        gatherv_into(comm, send, &mut [], &blocks, root)?;
        return Ok(None);
    }
    let mut data = counts::room(NAME, blocks.end())?;
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
    let call = record::Call::of(const { &Kind::moving::<T>(NAME).rooted() }).root(root);
    if let Some(ints) = blocks.kept_ints(TypeOf::<T>::items())
        && let Some(over) = comm.fast_path_collective(1)
    {
        let gathering = Gathering::at(NAME, comm, send, recv, blocks, root)?;
        let comm = comm.recorded(over, call.count_u32(send.len()));
        return mpi::gatherings::small::<Gatherv, T>(comm, ints, gathering);
    }
    moves::slow_path::<Gatherv, T>(comm, send, recv, (blocks, root))
}
