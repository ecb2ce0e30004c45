//! Between two groups: messages go to the other one, and come from there.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::{block_mut, bytes, bytes_mut};
use super::call::{Call, Outcome};
use super::reduce::combine;
use crate::intercommunicators::{Gathered, RootGroup};
use crate::ops::Reduction;
use crate::transfer::Transfer;

pub(crate) fn barrier_between(comm: &Comm) -> Result<()> {
    let call = Call::of::<()>(comm, "MPI_Barrier");
    exchange(&call, &[], |_, from| call.receive(from, &mut []))
}

pub(crate) fn bcast_between<T: Pod>(comm: &Comm, data: &mut [T], root: RootGroup) -> Result<()> {
    let call = Call::of::<T>(comm, "MPI_Bcast");
    match root {
        RootGroup::This => {
            let mut outcome = Outcome::default();
            for rank in 0..comm.peers() {
                outcome.note(call.send(rank, bytes(data)));
            }
            outcome.result()
        }
        RootGroup::OfThisGroup => Ok(()),
        RootGroup::OfOtherGroup(rank) => call.receive(rank, bytes_mut(data)),
    }
}

pub(crate) fn allreduce_between<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    transfer: Transfer<'_, T>,
) -> Result<()> {
    let call = Call::of::<T>(comm, transfer.operation());
    let (send, sum) = transfer.into_copied(0..0);
    let mut theirs = bytemuck::zeroed_vec(sum.len());
    exchange(&call, bytes(&send), |call, from| {
        call.receive(from, bytes_mut(&mut theirs))?;
        combine(call, op, from == 0, sum, &theirs)
    })
}

pub(crate) fn allgather_between<T: Pod>(comm: &Comm, gathered: Gathered<'_, T>) -> Result<()> {
    let call = Call::of::<T>(comm, "MPI_Allgather");
    let block = gathered.block * size_of::<T>();
    let recv = bytes_mut(gathered.recv);
    exchange(&call, bytes(gathered.send), |call, from| {
        call.receive(from, block_mut(recv, block, from))
    })
}

/// Sends the same to every rank of the other group, and receives from each, in the order of ranks.
fn exchange(
    call: &Call<'_>,
    send: &[u8],
    mut receive: impl FnMut(&Call<'_>, usize) -> Result<()>,
) -> Result<()> {
    let mut outcome = Outcome::default();
    for rank in 0..call.comm.peers() {
        outcome.note(call.send(rank, send));
    }
    for rank in 0..call.comm.peers() {
        outcome.note(receive(call, rank));
    }
    outcome.result()
}
