//! Collectives that return at once, in one round: a rank sends all that others need of it when it
//! begins, and the others go on without it. What it needs itself it receives when it is asked.

use std::borrow::Cow;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, StartedOp};

use super::arrivals::Arrivals;
use super::bytes::{Bytes, block_mut, block_of, bytes, bytes_mut};
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

pub(crate) fn ibcast<T: Pod>(comm: &Comm, transfer: Stable<Transfer<'_, T>>) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, transfer.get().operation());
    let bytes = transfer.map(|transfer| Bytes::of(comm, transfer, 0..0).1);
    let root = bytes.get().root;
    if call.rank() == root {
        for rank in call.others() {
            call.send(rank, bytes.get().recv)?;
        }
        return Ok(StartedOp::Over);
    }
    let place = bytes.map(|bytes| bytes.recv).into_span();
    Ok(Arrivals::new(&call, vec![(root, place)]).begun())
}

pub(crate) fn igather<T: Pod>(comm: &Comm, transfer: Stable<Transfer<'_, T>>) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, transfer.get().operation());
    let bytes = transfer.map(|transfer| Bytes::of(comm, transfer, comm.rank()..comm.rank() + 1).1);
    if call.rank() != bytes.get().root {
        call.send(bytes.get().root, &bytes.get().send)?;
        return Ok(StartedOp::Over);
    }
    Ok(gathering(&call, bytes))
}

pub(crate) fn iallgather<T: Pod>(
    comm: &Comm,
    transfer: Stable<Transfer<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, transfer.get().operation());
    let bytes = transfer.map(|transfer| Bytes::of(comm, transfer, comm.rank()..comm.rank() + 1).1);
    for rank in call.others() {
        call.send(rank, &bytes.get().send)?;
    }
    Ok(gathering(&call, bytes))
}

/// A block of each rank: this one's is there.
fn gathering(call: &RankCall<'_>, mut bytes: Stable<Bytes<'_>>) -> StartedOp {
    let Bytes {
        send, recv, block, ..
    } = bytes.get_mut();
    let block = *block;
    block_mut(recv, block, call.rank()).copy_from_slice(send);
    let place = bytes.map(|bytes| bytes.recv).into_span();
    let expected = call
        .others()
        .map(|rank| (rank, place.part(rank * block, block)))
        .collect();
    Arrivals::new(call, expected).begun()
}

pub(crate) fn iscatter<T: Pod>(
    comm: &Comm,
    transfer: Stable<Transfer<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, transfer.get().operation());
    let mut bytes = transfer.map(|transfer| Bytes::of(comm, transfer, 0..0).1);
    let Bytes {
        send,
        recv,
        block,
        root,
    } = bytes.get_mut();
    let (block, root) = (*block, *root);
    if call.rank() == root {
        for rank in call.others() {
            call.send(rank, block_of(send, block, rank))?;
        }
        // In place, the root's own block stays where it is.
        if !recv.is_empty() {
            recv.copy_from_slice(block_of(send, block, root));
        }
        return Ok(StartedOp::Over);
    }
    let place = bytes.map(|bytes| bytes.recv).into_span();
    Ok(Arrivals::new(&call, vec![(root, place)]).begun())
}

pub(crate) fn ialltoall<T: Pod>(
    comm: &Comm,
    transfer: Stable<Transfer<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, transfer.get().operation());
    let mut bytes = transfer.map(|transfer| Bytes::of(comm, transfer, 0..comm.size()).1);
    let Bytes {
        send, recv, block, ..
    } = bytes.get_mut();
    let (block, me) = (*block, call.rank());
    for rank in call.others() {
        call.send(rank, block_of(send, block, rank))?;
    }
    block_mut(recv, block, me).copy_from_slice(block_of(send, block, me));
    let place = bytes.map(|bytes| bytes.recv).into_span();
    let expected = call
        .others()
        .map(|rank| (rank, place.part(rank * block, block)))
        .collect();
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
    let slices = transfer.map(|transfer| transfer.into_copied(0..blocks.end()));
    for rank in call.others() {
        let block = &slices.get().0[blocks.range(rank)];
        call.send(rank, bytes(block))?;
    }
    let own = slices.get().0[blocks.range(call.rank())].to_vec();
    let end = call.size();
    // In place, what is behind the own block stays.
    let place = slices
        .map(|(_, recv)| bytes_mut(&mut recv[..own.len()]))
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
