//! Scatter: blocks of different lengths from the root, one for each rank.

use bytemuck::Pod;
use ranks_comm::backend::TypeOf;
use ranks_comm::{Communicator, Result};

use crate::agreement::{CallSignature, all_ready};
use crate::arguments::blocks::Blocks;
use crate::arguments::root::Root;
use crate::mpi;
use crate::mpi::functions::{Bcast, Scatterv};
use crate::operation::moves;
use crate::operation::varying::counts;

const NAME: &str = "MPI_Scatterv";

/// Every rank learns the counts, since all take the same way by them.
pub(crate) fn scatterv<T: Pod>(
    comm: &Communicator,
    send: &[T],
    blocks: &Blocks,
    root: usize,
) -> Result<Vec<T>> {
    let at_root = comm.rank() == root;
    let ready = Root::new(NAME, comm, root).and_then(|_| {
        if at_root {
            blocks.fit(NAME, comm, "send", send.len())?;
            blocks.must_be_disjoint(NAME, comm, "send")?;
        }
        Ok(())
    });
    all_ready(comm, CallSignature::moving::<T>(NAME).at(root), ready)?;
    let mut all = vec![0; comm.size()];
    if at_root {
        counts::write(blocks, &mut all);
    }
    moves::transferred::<Bcast, u64>(comm, comm.size(), &[], &mut all, root)?;
    let told = counts::read(NAME, &all)?;
    let mut recv = counts::room_to_receive(comm, NAME, told.counts()[comm.rank()])?;
    let blocks = if at_root { blocks } else { &told };
    scatterv_into(comm, send, blocks, &mut recv, root)?;
    Ok(recv)
}

#[inline]
pub(crate) fn scatterv_into<T: Pod>(
    comm: &Communicator,
    send: &[T],
    blocks: &Blocks,
    recv: &mut [T],
    root: usize,
) -> Result<()> {
    moves::transferred_by::<Scatterv, T, _>(
        comm,
        recv.len(),
        (send, recv),
        (blocks, root),
        blocks.kept_ints(TypeOf::<T>::items()),
        |comm, ints, scattering| mpi::scatterings::small::<T>(comm, ints, scattering),
    )
}
