//! Collectives that return at once, in one round: a rank sends all that others need of it when it
//! begins, and the others go on without it. What it needs itself it receives when it is asked.

use std::borrow::Cow;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, StartedOp};

use super::arrivals::Arrivals;
use super::bytes::{bytes, bytes_mut};
use super::call::RankCall;
use super::folding::Folding;
use crate::arguments::reducing::Reducing;
use crate::arguments::transfer::Transfer;
use crate::in_flight::stable::{Stable, nowhere};
use crate::ops::Reduction;

pub(crate) fn ibarrier(comm: &Comm) -> Result<StartedOp> {
    let call = RankCall::begun::<u8>(comm, "MPI_Ibarrier");
    for rank in call.others() {
        call.send(rank, &[])?;
    }
    let expected = call.others().map(|rank| (rank, nowhere())).collect();
    Ok(Arrivals::new(&call, expected).begun())
}

pub(crate) fn ireduce<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    let transfer = reducing.map(|reducing| reducing.transfer);
    let call = RankCall::begun::<T>(comm, transfer.get().operation());
    let root = transfer.get().root_rank();
    let slices = copied(transfer);
    if call.rank() != root {
        call.send(root, bytes(&slices.get().0))?;
        return Ok(StartedOp::Over);
    }
    Ok(folding(&call, op, slices, call.size()))
}

pub(crate) fn iallreduce<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    let transfer = reducing.map(|reducing| reducing.transfer);
    let call = RankCall::begun::<T>(comm, transfer.get().operation());
    let slices = copied(transfer);
    for rank in call.others() {
        call.send(rank, bytes(&slices.get().0))?;
    }
    Ok(folding(&call, op, slices, call.size()))
}

/// Up to this rank.
pub(crate) fn iscan<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    over_lower_ranks(comm, op, reducing, comm.rank() + 1)
}

/// Up to the rank before this one. On rank 0 nothing is written.
pub(crate) fn iexscan<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    over_lower_ranks(comm, op, reducing, comm.rank())
}

fn over_lower_ranks<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    reducing: Stable<Reducing<'_, T>>,
    end: usize,
) -> Result<StartedOp> {
    let transfer = reducing.map(|reducing| reducing.transfer);
    let call = RankCall::begun::<T>(comm, transfer.get().operation());
    let slices = copied(transfer);
    for rank in call.rank() + 1..call.size() {
        call.send(rank, bytes(&slices.get().0))?;
    }
    Ok(folding(&call, op, slices, end))
}

pub(crate) fn ireduce_scatter<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    let blocks = reducing.get().blocks();
    let transfer = reducing.map(|reducing| reducing.transfer);
    let call = RankCall::begun::<T>(comm, transfer.get().operation());
    let end = blocks.end();
    let slices = transfer.map(move |transfer| transfer.into_copied(0..end));
    for rank in call.others() {
        let block = &slices.get().0[blocks.range(rank)];
        call.send(rank, bytes(block))?;
    }
    let own = slices.get().0[blocks.range(call.rank())].to_vec();
    let (end, length) = (call.size(), own.len());
    // In place, what is behind the own block stays.
    let place = slices
        .map(move |(_, recv)| bytes_mut(&mut recv[..length]))
        .into_span();
    Ok(Folding::begun(&call, op, Some(&own), end, place))
}

/// The elements that are sent, in place copied, and the place of those that are received.
type Copied<'a, T> = (Cow<'a, [T]>, &'a mut [T]);

fn copied<'a, T: Pod>(transfer: Stable<Transfer<'a, T>>) -> Stable<Copied<'a, T>> {
    transfer.map(|transfer| {
        let block = transfer.block();
        transfer.into_copied(0..block)
    })
}

/// Combines one block of each rank below `end`.
fn folding<T: Pod, O: Reduction<T> + Send + 'static>(
    call: &RankCall<'_>,
    op: O,
    slices: Stable<Copied<'_, T>>,
    end: usize,
) -> StartedOp {
    let own = slices.get().0.to_vec();
    let place = slices.map(|(_, recv)| bytes_mut(recv)).into_span();
    Folding::begun(call, op, Some(&own), end, place)
}
