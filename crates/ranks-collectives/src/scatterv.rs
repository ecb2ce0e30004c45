//! Scatter: blocks of different lengths from the root, one for each rank.

use bytemuck::Pod;
use ranks_comm::backend::MpiComm;
use ranks_comm::{Communicator, Result};

use crate::agreement::{Call, all_ready};
use crate::blocks::Blocks;
use crate::in_time::carry_out_in_time;
use crate::lasting::Lasting;
use crate::varying::Scattering;
use crate::{bcast, counts, in_process, mpi, nonblocking};

const NAME: &str = "MPI_Scatterv";

/// Every rank learns the counts, since all take the same way by them.
pub(crate) fn scatterv<T: Pod>(
    comm: &Communicator,
    send: &[T],
    blocks: &Blocks,
    root: usize,
) -> Result<Vec<T>> {
    let at_root = comm.rank() == root;
    let ready = counts::check_root(NAME, comm, root).and_then(|()| {
        if at_root {
            blocks.fit(NAME, comm, "send", send.len())?;
            blocks.must_be_disjoint(NAME, comm, "send")?;
        }
        Ok(())
    });
    all_ready(comm, Call::moving::<T>(NAME).at(root), ready)?;
    let mut all = vec![0; comm.size()];
    if at_root {
        counts::write(blocks, &mut all);
    }
    bcast::bcast(comm, &mut all, root)?;
    let told = counts::read(NAME, &all)?;
    let mut recv = counts::room(NAME, told.counts()[comm.rank()])?;
    let blocks = if at_root { blocks } else { &told };
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
    let scattering = Scattering::from(NAME, comm, send, recv, blocks, root);
    whole(comm, scattering, root)
}

pub(crate) fn scatterv_in_place<T: Pod>(
    comm: &Communicator,
    data: &mut [T],
    blocks: &Blocks,
    root: usize,
) -> Result<()> {
    let scattering = Scattering::in_place_from(NAME, comm, data, blocks, root);
    whole(comm, scattering, root)
}

fn whole<T: Pod>(
    comm: &Communicator,
    scattering: Result<Scattering<'_, T>>,
    root: usize,
) -> Result<()> {
    let me = comm.rank();
    carry_out_in_time(
        comm,
        Call::moving::<T>(NAME).at(root),
        scattering,
        |comm, scattering| mpi::scatterv(comm, me, scattering),
        Some((
            &nonblocking::ISCATTERV,
            |comm: &MpiComm, scattering: Lasting<Scattering<'_, T>>| {
                mpi::iscatterv(comm, me, scattering)
            },
        )),
        in_process::scatterv,
    )
}
