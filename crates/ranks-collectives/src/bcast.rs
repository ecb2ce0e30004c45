//! Broadcast: one block from the root to all.

use bytemuck::Pod;
use ranks_comm::backend::TypeOf;
use ranks_comm::{Communicator, Result};

use crate::agreement::{Call, carry_out};
use crate::transfer::Transfer;
use crate::{in_process, mpi};

const NAME: &str = "MPI_Bcast";

#[inline]
pub(crate) fn bcast<T: Pod>(comm: &Communicator, data: &mut [T], root: usize) -> Result<()> {
    match comm.express(data.len() * TypeOf::<T>::items()) {
        Some(over) => mpi::bcast_small::<T>(over, Transfer::broadcast(NAME, comm, data, root)?),
        None => in_full::<T>(comm, data, root),
    }
}

/// Takes the arguments one by one, so that nothing need be built in memory before it is called.
#[cold]
#[inline(never)]
fn in_full<T: Pod>(comm: &Communicator, data: &mut [T], root: usize) -> Result<()> {
    let transfer = Transfer::broadcast(NAME, comm, data, root);
    let call = Call::moving::<T>(NAME).at(root);
    carry_out(
        comm,
        call,
        transfer,
        mpi::bcast::<T>,
        in_process::bcast::<T>,
    )
}
