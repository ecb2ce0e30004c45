//! Scatter: blocks of different lengths from the root, one for each rank.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::blocks::Blocks;
use crate::varying::Scattering;
use crate::{bcast, counts, in_process, mpi};

const NAME: &str = "MPI_Scatterv";

/// Every rank learns the counts, since all take the same way by them.
pub(crate) fn scatterv<T: Pod>(
    comm: &Communicator,
    send: &[T],
    blocks: &Blocks,
    root: usize,
) -> Result<Vec<T>> {
    counts::check_root(NAME, comm, root)?;
    let mut all = vec![0; comm.size()];
    if comm.rank() == root {
        blocks.fit(NAME, comm, "send", send.len())?;
        blocks.must_be_disjoint(NAME, "send")?;
        counts::write(blocks, &mut all);
    }
    bcast::bcast(comm, &mut all, root)?;
    let told = counts::read(NAME, &all)?;
    let mut recv = counts::room(NAME, told.counts()[comm.rank()])?;
    let blocks = if comm.rank() == root { blocks } else { &told };
    scatterv_into(comm, send, blocks, &mut recv, root)?;
    Ok(recv)
}

pub(crate) fn scatterv_into<T: Pod>(
    comm: &Communicator,
    send: &[T],
    blocks: &Blocks,
    recv: &mut [T],
    root: usize,
) -> Result<()> {
    whole(
        comm,
        Scattering::from(NAME, comm, send, recv, blocks, root)?,
    )
}

pub(crate) fn scatterv_in_place<T: Pod>(
    comm: &Communicator,
    data: &mut [T],
    blocks: &Blocks,
    root: usize,
) -> Result<()> {
    whole(
        comm,
        Scattering::in_place_from(NAME, comm, data, blocks, root)?,
    )
}

fn whole<T: Pod>(comm: &Communicator, scattering: Scattering<'_, T>) -> Result<()> {
    let me = comm.rank();
    comm.dispatch_with(
        NAME,
        scattering,
        |comm, scattering| mpi::scatterv(comm, me, scattering),
        in_process::scatterv,
    )
}
