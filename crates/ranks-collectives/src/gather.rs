//! Gather: a block of each rank, side by side at the root.

use bytemuck::Pod;
use ranks_comm::backend::TypeOf;
use ranks_comm::record::{self, Kind};
use ranks_comm::{Communicator, Result};

use crate::agreement::Call;
use crate::in_time::carry_out_in_time;
use crate::transfer::Transfer;
use crate::{in_process, mpi, nonblocking};

const NAME: &str = "MPI_Gather";

#[inline]
pub(crate) fn gather<T: Pod>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    root: usize,
) -> Result<()> {
    let call = record::Call::of(const { &Kind::moving::<T>(NAME).rooted() })
        .few(send.len())
        .root(root);
    match comm.express_collective(send.len() * TypeOf::<T>::items()) {
        Some(over) => {
            let transfer = Transfer::gathered_at(NAME, comm, send, recv, root)?;
            mpi::gather_small::<T>(comm.recorded(over, call), transfer)
        }
        None => in_full::<T>(comm, send, recv, root),
    }
}

/// Takes the arguments one by one, so that nothing need be built in memory before it is called.
#[cold]
#[inline(never)]
fn in_full<T: Pod>(comm: &Communicator, send: &[T], recv: &mut [T], root: usize) -> Result<()> {
    let transfer = Transfer::gathered_at(NAME, comm, send, recv, root);
    let call = Call::moving::<T>(NAME).at(root);
    carry_out_in_time(
        comm,
        call,
        transfer,
        mpi::gather::<T>,
        Some((&nonblocking::IGATHER, mpi::igather::<T>)),
        in_process::gather::<T>,
    )
}

pub(crate) fn gather_in_place<T: Pod>(
    comm: &Communicator,
    data: &mut [T],
    root: usize,
) -> Result<()> {
    let transfer = Transfer::gathered_in_place(NAME, comm, data, root);
    let call = Call::moving::<T>(NAME).at(root);
    carry_out_in_time(
        comm,
        call,
        transfer,
        mpi::gather::<T>,
        Some((&nonblocking::IGATHER, mpi::igather::<T>)),
        in_process::gather::<T>,
    )
}
