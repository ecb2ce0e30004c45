//! Between two groups.

use std::borrow::Cow;

use bytemuck::Pod;
use ranks_comm::backend::{MpiComm as Comm, StartedOp, check_collective};
use ranks_comm::{Error, Result};
use ranks_mpi_sys as sys;

use super::begun::begin_large;
use super::functions::{Abi, Alltoallv, Large, Moved, Moves};
use super::varying::{self, Division, SliceInBlocks, Varying};
use crate::arguments::blocks::Blocks;
use crate::arguments::crossing::{Crossing, RootGroup};
use crate::in_flight::stable::Stable;

const NOBODY: RootGroup = RootGroup::OfThisGroup;

fn arguments<T: Pod>(crossing: Crossing<'_, T>) -> Moved<Large> {
    let root = crossing.root.unwrap_or(NOBODY);
    Moved {
        send_count: Large::count::<T>(crossing.send.len()),
        recv_count: Large::count::<T>(crossing.block),
        root: root.number(sys::MPI_ROOT, sys::MPI_PROC_NULL),
        ..Moved::between(Some(crossing.send), Some(crossing.recv))
    }
}

pub(crate) fn blocking<F: Moves, T: Pod>(comm: &Comm, crossing: Crossing<'_, T>) -> Result<()> {
    // SAFETY: `recv` has room for the blocks that come from the other group, where the root is, or
    // none, as `Crossing` has proven.
    let code = unsafe { F::blocking_c(arguments(crossing), comm.canonical) };
    check_collective(code, F::BLOCKING)
}

/// From one root, blocks go by `MPI_Ialltoallv`: in the `MPI_Ibcast` of MPICH and of who has it
/// from there, rank r of the group that receives sends what it has itself to its own group, where r
/// is the root's number in the other one (`ibcast_inter_sched_flat.c`, to 5.0).
pub(crate) fn nonblocking<F: Moves, T: Pod>(
    comm: &Comm,
    crossing: Stable<Crossing<'_, T>>,
) -> Result<StartedOp> {
    if let Some(root) = crossing.get().root {
        let varying = crossing.try_map(move |crossing| from_root(root, crossing))?;
        return varying::nonblocking::<Alltoallv, T>(comm, varying, None);
    }
    let with = arguments(crossing.into_inner());
    begin_large(F::NONBLOCKING, None, |request| {
        // SAFETY: the same, and the slices last, as `Stable` says.
        unsafe { F::nonblocking_c(with, comm.canonical, request) }
    })
}

/// The root sends all that it has to each rank of the other group, which receive nothing else.
fn from_root<T>(root: RootGroup, crossing: Crossing<'_, T>) -> Result<Varying<'_, T>> {
    let Crossing {
        recv, block, ranks, ..
    } = crossing;
    let mut sent = vec![0; ranks];
    let mut received = vec![0; ranks];
    let (send, recv): (&[T], &mut [T]) = match root {
        RootGroup::This => {
            sent.fill(block);
            (recv, &mut [])
        }
        RootGroup::OfThisGroup => (&[], &mut []),
        RootGroup::OfOtherGroup(rank) => {
            received[rank] = block;
            (&[], recv)
        }
    };
    let at_the_front = |counts: &[usize]| {
        let blocks = Blocks::new(counts, &vec![0; ranks])?;
        Ok::<_, Error>(Division::Blocks(Cow::Owned(blocks), None))
    };
    Ok(Varying {
        send: SliceInBlocks {
            slice: Some(send),
            division: at_the_front(&sent)?,
        },
        recv: SliceInBlocks {
            slice: Some(recv),
            division: at_the_front(&received)?,
        },
        root: 0,
    })
}

/// Nothing: a trial among the ranks of one group says nothing about two.
pub(crate) fn init<F: Moves, T: Pod>(
    _: &Comm,
    _: Stable<Crossing<'_, T>>,
) -> Result<Option<StartedOp>> {
    Ok(None)
}
