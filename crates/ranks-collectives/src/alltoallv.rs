//! All to all, with blocks of different lengths.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::agreement::{Call, all_ready, carry_out};
use crate::blocks::Blocks;
use crate::gathered::Gathered;
use crate::varying::Exchange;
use crate::{alltoall, counts, in_process, mpi};

const NAME: &str = "MPI_Alltoallv";

pub(crate) fn alltoallv<T: Pod>(
    comm: &Communicator,
    send: &[T],
    blocks: &Blocks,
) -> Result<Gathered<T>> {
    let ready = blocks.fit(NAME, comm, "send", send.len());
    all_ready(comm, Call::moving::<T>(NAME), ready)?;
    let mut sent = vec![0; comm.size()];
    counts::write(blocks, &mut sent);
    let mut received = vec![0; comm.size()];
    alltoall::alltoall(comm, &sent, &mut received)?;
    let theirs = counts::read(NAME, &received)?;
    let mut data = counts::room(NAME, theirs.end())?;
    alltoallv_into(comm, send, blocks, &mut data, &theirs)?;
    Ok(Gathered::new(data, theirs))
}

pub(crate) fn alltoallv_into<T: Pod>(
    comm: &Communicator,
    send: &[T],
    send_blocks: &Blocks,
    recv: &mut [T],
    recv_blocks: &Blocks,
) -> Result<()> {
    let exchange = Exchange::new(NAME, comm, (send, send_blocks), (recv, recv_blocks));
    whole(comm, exchange)
}

pub(crate) fn alltoallv_in_place<T: Pod>(
    comm: &Communicator,
    data: &mut [T],
    blocks: &Blocks,
) -> Result<()> {
    whole(comm, Exchange::in_place(NAME, comm, data, blocks))
}

fn whole<T: Pod>(comm: &Communicator, exchange: Result<Exchange<'_, T>>) -> Result<()> {
    let call = Call::moving::<T>(NAME);
    carry_out(comm, call, exchange, mpi::alltoallv, in_process::alltoallv)
}
