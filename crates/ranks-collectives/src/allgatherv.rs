//! Gather of blocks of different lengths to all ranks.

use bytemuck::Pod;
use ranks_comm::backend::{MpiComm, TypeOf};
use ranks_comm::record::{self, Kind};
use ranks_comm::{Communicator, Result};

use crate::agreement::Call;
use crate::blocks::Blocks;
use crate::gathered::Gathered;
use crate::in_time::carry_out_in_time;
use crate::lasting::Lasting;
use crate::varying::Gathering;
use crate::{counts, in_process, mpi, nonblocking};

const NAME: &str = "MPI_Allgatherv";

pub(crate) fn allgatherv<T: Pod>(comm: &Communicator, send: &[T]) -> Result<Gathered<T>> {
    let mut gathered = Gathered::default();
    allgatherv_again(comm, send, &mut gathered)?;
    Ok(gathered)
}

pub(crate) fn allgatherv_again<T: Pod>(
    comm: &Communicator,
    send: &[T],
    gathered: &mut Gathered<T>,
) -> Result<()> {
    let blocks = counts::of_all(comm, send.len())?;
    let (recv, blocks) = gathered.make_room(NAME, blocks)?;
    allgatherv_into(comm, send, recv, blocks)
}

#[inline]
pub(crate) fn allgatherv_into<T: Pod>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    blocks: &Blocks,
) -> Result<()> {
    let call = record::Call::of(const { &Kind::moving::<T>(NAME) }).few(send.len());
    if let Some(ints) = blocks.ready_ints(TypeOf::<T>::items())
        && let Some(over) = comm.express_collective(1)
    {
        let gathering = Gathering::new(NAME, comm, send, recv, blocks)?;
        return mpi::allgatherv_small(comm.recorded(over, call), ints, gathering);
    }
    in_full(comm, send, recv, blocks)
}

/// Takes the arguments one by one, so that nothing need be built in memory before it is called.
#[cold]
#[inline(never)]
fn in_full<T: Pod>(comm: &Communicator, send: &[T], recv: &mut [T], blocks: &Blocks) -> Result<()> {
    whole(comm, Gathering::new(NAME, comm, send, recv, blocks))
}

pub(crate) fn allgatherv_in_place<T: Pod>(
    comm: &Communicator,
    data: &mut [T],
    blocks: &Blocks,
) -> Result<()> {
    whole(comm, Gathering::in_place(NAME, comm, data, blocks))
}

fn whole<T: Pod>(comm: &Communicator, gathering: Result<Gathering<'_, T>>) -> Result<()> {
    let me = comm.rank();
    carry_out_in_time(
        comm,
        Call::moving::<T>(NAME),
        gathering,
        |comm, gathering| mpi::allgatherv(comm, me, gathering),
        Some((
            &nonblocking::IALLGATHERV,
            |comm: &MpiComm, gathering: Lasting<Gathering<'_, T>>| {
                mpi::iallgatherv(comm, me, gathering)
            },
        )),
        in_process::allgatherv,
    )
}
