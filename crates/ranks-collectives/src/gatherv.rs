//! Gather of blocks of different lengths to one rank.

use bytemuck::Pod;
use ranks_comm::backend::MpiComm;
use ranks_comm::{Communicator, Result};

use crate::agreement::{Call, all_ready};
use crate::blocks::Blocks;
use crate::gathered::Gathered;
use crate::in_time::carry_out_in_time;
use crate::lasting::Lasting;
use crate::varying::Gathering;
use crate::{counts, in_process, mpi, nonblocking};

const NAME: &str = "MPI_Gatherv";

/// Every rank learns the counts, since all take the same way by them.
pub(crate) fn gatherv<T: Pod>(
    comm: &Communicator,
    send: &[T],
    root: usize,
) -> Result<Option<Gathered<T>>> {
    let ready = counts::check_root(NAME, comm, root);
    all_ready(comm, Call::moving::<T>(NAME).at(root), ready)?;
    let blocks = counts::of_all(comm, send.len())?;
    if comm.rank() != root {
        gatherv_into(comm, send, &mut [], &blocks, root)?;
        return Ok(None);
    }
    let mut data = counts::room(NAME, blocks.end())?;
    gatherv_into(comm, send, &mut data, &blocks, root)?;
    Ok(Some(Gathered::new(data, blocks)))
}

pub(crate) fn gatherv_into<T: Pod>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    blocks: &Blocks,
    root: usize,
) -> Result<()> {
    let gathering = Gathering::at(NAME, comm, send, recv, blocks, root);
    whole(comm, gathering, root)
}

pub(crate) fn gatherv_in_place<T: Pod>(
    comm: &Communicator,
    data: &mut [T],
    blocks: &Blocks,
    root: usize,
) -> Result<()> {
    let gathering = Gathering::in_place_at(NAME, comm, data, blocks, root);
    whole(comm, gathering, root)
}

fn whole<T: Pod>(
    comm: &Communicator,
    gathering: Result<Gathering<'_, T>>,
    root: usize,
) -> Result<()> {
    let me = comm.rank();
    carry_out_in_time(
        comm,
        Call::moving::<T>(NAME).at(root),
        gathering,
        |comm, gathering| mpi::gatherv(comm, me, gathering),
        Some((
            &nonblocking::IGATHERV,
            |comm: &MpiComm, gathering: Lasting<Gathering<'_, T>>| {
                mpi::igatherv(comm, me, gathering)
            },
        )),
        in_process::gatherv,
    )
}
