//! Gather of blocks of different lengths to one rank.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::agreement::{CallSignature, all_ready};
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
        moves::moved::<Gatherv, T>(comm, send, &mut [], (&blocks, root))?;
        return Ok(None);
    }
    let mut data = counts::room(NAME, blocks.end())?;
    moves::moved::<Gatherv, T>(comm, send, &mut data, (&blocks, root))?;
    Ok(Some(Gathered::new(data, blocks)))
}
