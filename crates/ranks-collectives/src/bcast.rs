//! Broadcast: one block from the root to all.

use bytemuck::Pod;
use ranks_comm::backend::TypeOf;
use ranks_comm::record::{self, Kind};
use ranks_comm::{Communicator, Result};

use crate::agreement::Call;
use crate::in_time::carry_out_in_time;
use crate::transfer::Transfer;
use crate::{in_process, mpi, nonblocking};

const NAME: &str = "MPI_Bcast";

#[inline]
pub(crate) fn bcast<T: Pod>(comm: &Communicator, data: &mut [T], root: usize) -> Result<()> {
    let call = record::Call::of(const { &Kind::moving::<T>(NAME).rooted() })
        .few(data.len())
        .root(root);
    match comm.express_collective(data.len() * TypeOf::<T>::items()) {
        Some(over) => {
            let transfer = Transfer::broadcast(NAME, comm, data, root)?;
            mpi::bcast_small::<T>(comm.recorded(over, call), transfer)
        }
        None => in_full::<T>(comm, data, root),
    }
}

/// Takes the arguments one by one, so that nothing need be built in memory before it is called.
#[cold]
#[inline(never)]
fn in_full<T: Pod>(comm: &Communicator, data: &mut [T], root: usize) -> Result<()> {
    let transfer = Transfer::broadcast(NAME, comm, data, root);
    let call = Call::moving::<T>(NAME).at(root);
    carry_out_in_time(
        comm,
        call,
        transfer,
        mpi::bcast::<T>,
        Some((&nonblocking::IBCAST, mpi::ibcast::<T>)),
        in_process::bcast::<T>,
    )
}
