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
    let root = reducing.get().transfer.root_rank();
    let (call, slices) = begun(comm, reducing);
    if call.rank() != root {
        call.send(root, bytes(&slices.get().0))?;
        return Ok(StartedOp::Over);
    }
    Ok(folding(&call, op, slices, call.size()))
}

/// To all, or to the other group what this one has.
pub(crate) fn iallreduce<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    let (call, slices) = begun(comm, reducing);
    send_and_fold(&call, op, slices, call.others(), comm.peers())
}

/// Up to this rank.
pub(crate) fn iscan<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    let (call, slices) = begun(comm, reducing);
    let me = call.rank();
    send_and_fold(&call, op, slices, me + 1..call.size(), me + 1)
}

/// Up to the rank before this one. On rank 0 nothing is written.
pub(crate) fn iexscan<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    let (call, slices) = begun(comm, reducing);
    let me = call.rank();
    send_and_fold(&call, op, slices, me + 1..call.size(), me)
}

pub(crate) fn ireduce_scatter<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Comm,
    op: O,
    reducing: Stable<Reducing<'_, T>>,
) -> Result<StartedOp> {
    let blocks = reducing.get().blocks();
    let (call, slices) = begun(comm, reducing);
    for rank in call.others() {
        let block = &slices.get().0[blocks.range(rank)];
        call.send(rank, bytes(block))?;
    }
    let mine = blocks.range(call.rank());
    let own = bytes(&slices.get().0[mine.clone()]).to_vec();
    // In place, what is behind the own block stays.
    let place = slices.map(move |(_, recv)| bytes_mut(&mut recv[..mine.len()]));
    let (place, end) = (place.into_span(), call.size());
    Ok(Folding::<T, O>::begun(&call, op, Some(own), end, place))
}

/// The elements that are sent, in place copied, and the place of those that are received.
type Copied<'a, T> = (Cow<'a, [T]>, &'a mut [T]);

/// A reduction that begins here.
fn begun<'c, 'a, T: Pod>(
    comm: &'c Comm,
    reducing: Stable<Reducing<'a, T>>,
) -> (RankCall<'c>, Stable<Copied<'a, T>>) {
    let call = RankCall::begun::<T>(comm, reducing.get().transfer.operation());
    let slices = reducing.map(|reducing| {
        let own = 0..reducing.elements();
        reducing.transfer.into_copied(own)
    });
    (call, slices)
}

/// Sends all of it to some ranks, and combines as much of each rank below `end`.
fn send_and_fold<T: Pod, O: Reduction<T> + Send + 'static>(
    call: &RankCall<'_>,
    op: O,
    slices: Stable<Copied<'_, T>>,
    to: impl Iterator<Item = usize>,
    end: usize,
) -> Result<StartedOp> {
    for rank in to {
        call.send(rank, bytes(&slices.get().0))?;
    }
    Ok(folding(call, op, slices, end))
}

/// Combines one block of each rank below `end`; between two groups, of those of the other one.
fn folding<T: Pod, O: Reduction<T> + Send + 'static>(
    call: &RankCall<'_>,
    op: O,
    slices: Stable<Copied<'_, T>>,
    end: usize,
) -> StartedOp {
    let own = (!call.comm.is_between()).then(|| bytes(&slices.get().0).to_vec());
    let place = slices.map(|(_, recv)| bytes_mut(recv)).into_span();
    Folding::<T, O>::begun(call, op, own, end, place)
}
