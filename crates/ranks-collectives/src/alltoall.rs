//! All to all: a block from each rank for each rank.

use bytemuck::Pod;
use ranks_comm::backend::TypeOf;
use ranks_comm::record::{self, Kind};
use ranks_comm::{Communicator, Result};

use crate::agreement::Call;
use crate::in_time::carry_out_in_time;
use crate::transfer::Transfer;
use crate::{in_process, mpi, nonblocking};

const NAME: &str = "MPI_Alltoall";

#[inline]
pub(crate) fn alltoall<T: Pod>(comm: &Communicator, send: &[T], recv: &mut [T]) -> Result<()> {
    let call = record::Call::of(const { &Kind::moving::<T>(NAME) }).few(send.len());
    match comm.express_collective(send.len() * TypeOf::<T>::items()) {
        Some(over) => {
            let transfer = Transfer::exchanged(NAME, comm, send, recv)?;
            mpi::alltoall_small::<T>(comm.recorded(over, call), transfer)
        }
        None => in_full::<T>(comm, send, recv),
    }
}

/// Takes the arguments one by one, so that nothing need be built in memory before it is called.
#[cold]
#[inline(never)]
fn in_full<T: Pod>(comm: &Communicator, send: &[T], recv: &mut [T]) -> Result<()> {
    let transfer = Transfer::exchanged(NAME, comm, send, recv);
    carry_out_in_time(
        comm,
        Call::moving::<T>(NAME),
        transfer,
        mpi::alltoall::<T>,
        Some((&nonblocking::IALLTOALL, mpi::ialltoall::<T>)),
        in_process::alltoall::<T>,
    )
}

pub(crate) fn alltoall_in_place<T: Pod>(comm: &Communicator, data: &mut [T]) -> Result<()> {
    let transfer = Transfer::blocks_in_place(NAME, comm, data);
    carry_out_in_time(
        comm,
        Call::moving::<T>(NAME),
        transfer,
        mpi::alltoall::<T>,
        Some((&nonblocking::IALLTOALL, mpi::ialltoall::<T>)),
        in_process::alltoall::<T>,
    )
}
