//! Reduction of a block for each rank, of different lengths.

use bytemuck::Pod;
use ranks_comm::backend::MpiComm;
use ranks_comm::{Communicator, Result};

use std::borrow::Cow;

use crate::agreement::{Call, Proven};
use crate::blocks::Blocks;
use crate::in_time::carry_out_in_time;
use crate::lasting::Lasting;
use crate::ops::Reduction;
use crate::transfer::Transfer;
use crate::{in_process, mpi, nonblocking};

const NAME: &str = "MPI_Reduce_scatter";

pub(crate) fn reduce_scatter<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    send: &[T],
    recv: &mut [T],
    blocks: &Blocks,
    op: O,
) -> Result<()> {
    let transfer = Transfer::dealt(NAME, comm, send, recv, blocks);
    whole(comm, &op, transfer, blocks)?;
    op.finish(recv, comm.size());
    Ok(())
}

pub(crate) fn reduce_scatter_in_place<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    data: &mut [T],
    blocks: &Blocks,
    op: O,
) -> Result<()> {
    let transfer = Transfer::dealt_in_place(NAME, comm, data, blocks);
    whole(comm, &op, transfer, blocks)?;
    op.finish(&mut data[..blocks.counts()[comm.rank()]], comm.size());
    Ok(())
}

fn whole<T: Pod, O: Reduction<T>>(
    comm: &Communicator,
    op: &O,
    transfer: Result<Transfer<'_, T>>,
    blocks: &Blocks,
) -> Result<()> {
    let me = comm.rank();
    carry_out_in_time(
        comm,
        Call::reducing::<T, O>(NAME),
        transfer.map(|transfer| Dealt { transfer, blocks }),
        |comm, dealt| mpi::reduce_scatter(comm, me, op, dealt.transfer, blocks),
        O::predefined().map(|_| {
            let begin = |comm: &MpiComm, dealt: Lasting<Dealt<'_, T>>| {
                let transfer = dealt.map(|dealt| dealt.transfer);
                mpi::in_pieces::reduce_scatter::<T, O>(comm, me, transfer, blocks)
            };
            (&nonblocking::IREDUCE_SCATTER, begin)
        }),
        |comm, dealt| in_process::reduce_scatter(comm, op, dealt.transfer, blocks),
    )
}

/// A transfer whose blocks must be the same on every rank.
pub(crate) struct Dealt<'a, T> {
    pub(crate) transfer: Transfer<'a, T>,
    pub(crate) blocks: &'a Blocks,
}

impl<T> Proven for Dealt<'_, T> {
    fn lengths(&self) -> Cow<'_, [usize]> {
        Cow::Borrowed(self.blocks.counts())
    }
}
