//! Persistent collectives that a library keeps are relied on after a trial, once in a process.
//!
//! Libraries send what was there when an operation was prepared, or mix up operations that ranks
//! start in different orders: MPICH 4.0 to 4.2 and Intel MPI 2021, without an error. Which
//! operation does so depends on the release, so each of them is tried: two alike, started twice
//! with other data, in opposite orders on the two ranks, compared with the blocking operation. A
//! library that fails in one of them is asked for none.
//!
//! Two ranks are enough to see it, and more may be too many: where a rank of MPICH 4.2 scatters old
//! data to two others, one of them waits for ever. So the first two of a communicator try, one
//! operation after the other until one fails, and all ranks of it are told.
//!
//! All operations on one type are much to compile, and most programs prepare none. What leads here
//! is `#[inline]` all the way from `kept`, so that it is compiled where it is used alone.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};

use ranks_comm::backend::{Backend, MpiComm, StartedOp, unobserved};
use ranks_comm::layout::Layout;
use ranks_comm::{Communicator, Error, Persistent, Result};

use crate::agreement::{CallSignature, carry_out};
use crate::arguments::blocks::Blocks;
use crate::arguments::kept::{Around, Kept};
use crate::arguments::layouts::Layouts;
use crate::arguments::proven::Proven;
use crate::in_flight::stable::Shape;
use crate::mpi;
use crate::mpi::functions::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, Bcast, Exscan, Gather,
    Gatherv, NeighborAllgather, NeighborAllgatherv, NeighborAlltoall, NeighborAlltoallv,
    NeighborAlltoallw, Reduce, ReduceScatter, ReduceScatterBlock, Scan, Scatter, Scatterv,
};
use crate::operation::moves::{Mover, OneSlice};
use crate::operation::reductions::Reducer;
use crate::operation::{barrier, moves, reductions};
use crate::ops::Sum;

/// The knowledge of this process about its library.
const UNTRIED: u8 = 0;
const PASSED: u8 = 1;
const FAILED: u8 = 2;

/// The outcome of trials of one rank and of two.
static SHOWN: [AtomicU8; 2] = [AtomicU8::new(UNTRIED), AtomicU8::new(UNTRIED)];

thread_local! {
    /// That what this thread prepares is a part of a trial.
    static TRYING: Cell<bool> = const { Cell::new(false) };
}

/// The persistent request of the library, made by `over_mpi`, where that can be relied on; nothing
/// elsewhere, and the operation is begun anew at each start then. Collective; the same on all
/// ranks.
pub(crate) fn kept<P: Proven>(
    comm: &Communicator,
    call: CallSignature,
    proven: Result<P>,
    over_mpi: impl FnOnce(&MpiComm, P) -> Result<Option<StartedOp>>,
) -> Result<Option<StartedOp>> {
    let is_reliable = is_reliable(comm, call.operation())?;
    carry_out(comm, call, proven, |proven| match comm.backend() {
        Backend::Mpi(comm) if is_reliable => over_mpi(comm, proven),
        _ => Ok(None),
    })
}

/// Returns `true` if all ranks may leave persistent collectives to the library.
#[inline]
fn is_reliable(comm: &Communicator, operation: &'static str) -> Result<bool> {
    let is_over_mpi = matches!(comm.backend(), Backend::Mpi(_));
    // What is tried in one group says nothing about two.
    if !is_over_mpi || comm.is_between() || !mpi::keeps_collectives() {
        return Ok(false);
    }
    if TRYING.get() {
        return Ok(true);
    }
    let shown = &SHOWN[usize::from(comm.size() > 1)];
    // Ranks may have met in other communicators before, some of them.
    let known = comm.exchange(operation, &[shown.load(Ordering::Relaxed)])?;
    let verdict = if known.contains(&FAILED) {
        FAILED
    } else if known.contains(&UNTRIED) {
        unobserved(|| {
            let two = comm.split((comm.rank() < 2).then_some(0), 0)?;
            let verdict = two.map_or(PASSED, |two| match try_on(&two) {
                Ok(true) => PASSED,
                // What answers with an error is not to be relied on either.
                Ok(false) | Err(_) => FAILED,
            });
            let verdicts = comm.exchange(operation, &[verdict])?;
            Ok::<u8, Error>(verdicts.iter().copied().max().unwrap_or(FAILED))
        })?
    } else {
        PASSED
    };
    shown.store(verdict, Ordering::Relaxed);
    Ok(verdict == PASSED)
}

/// Tries all operations on one rank or two.
#[inline]
fn try_on(comm: &Communicator) -> Result<bool> {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            TRYING.set(false);
        }
    }
    TRYING.set(true);
    let _reset = Reset;
    // What libraries treat as short, and what as long.
    Ok(blocks_move(comm, 1)? && blocks_move(comm, 5000)? && barriers_wait(comm)?)
}

/// Elements that no other round, rank or operation sends.
#[inline]
fn elements(comm: &Communicator, length: usize, number: usize) -> Vec<usize> {
    let first = (2 * number + comm.rank()) * 1_000_000;
    (first..first + length).collect()
}

/// The element where nothing has arrived.
const NOTHING: usize = usize::MAX;

/// Returns `true` if two operations that `init` prepares leave what `once` does, at each start.
/// `set` gives one other data, `left` says what it left. The same on all ranks.
fn repeats<B: Send + 'static>(
    comm: &Communicator,
    init: impl Fn() -> Result<Persistent<B>>,
    set: impl Fn(&mut Persistent<B>, usize),
    left: impl Fn(&Persistent<B>) -> &[usize],
    once: impl Fn(usize) -> Result<Vec<usize>>,
) -> Result<bool> {
    let outcome = || -> Result<bool> {
        let (mut one, mut other) = (init()?, init()?);
        let mut is_right = true;
        for round in 0..2 {
            let numbers = [2 * round, 2 * round + 1];
            set(&mut one, numbers[0]);
            set(&mut other, numbers[1]);
            let (first, second) = if comm.rank() == 0 {
                let first = one.start()?;
                (first, other.start()?)
            } else {
                let second = other.start()?;
                (one.start()?, second)
            };
            (one, _) = first.wait()?;
            (other, _) = second.wait()?;
            is_right &= left(&one) == once(numbers[0])?;
            is_right &= left(&other) == once(numbers[1])?;
        }
        one.free()?;
        other.free()?;
        Ok(is_right)
    };
    let is_right = u8::from(matches!(outcome(), Ok(true)));
    let all = comm.exchange("MPI_Start", &[is_right])?;
    Ok(!all.contains(&0))
}

/// A vector that is sent, and one that is received.
type Vectors = (Vec<usize>, Vec<usize>);

/// A blocking operation from one slice to another.
type Once<'o> = &'o dyn Fn(&[usize], &mut [usize]) -> Result<()>;

/// The same from one vector to another, of these lengths.
#[inline]
fn between(
    comm: &Communicator,
    [send, recv]: [usize; 2],
    init: &dyn Fn(Vec<usize>, Vec<usize>) -> Result<Persistent<Vectors>>,
    once: Once<'_>,
) -> Result<bool> {
    repeats(
        comm,
        || init(elements(comm, send, 99), vec![NOTHING; recv]),
        |operation, number| {
            operation
                .send_mut()
                .copy_from_slice(&elements(comm, send, number));
            operation.recv_mut().fill(NOTHING);
        },
        |operation| operation.recv(),
        |number| {
            let mut expected = vec![NOTHING; recv];
            once(&elements(comm, send, number), &mut expected)?;
            Ok(expected)
        },
    )
}

/// The same in one vector, of this length, of which this much is left to be looked at.
#[inline]
fn alone(
    comm: &Communicator,
    [length, left]: [usize; 2],
    init: &dyn Fn(Vec<usize>) -> Result<Persistent<Vec<usize>>>,
    once: &dyn Fn(&mut [usize]) -> Result<()>,
) -> Result<bool> {
    repeats(
        comm,
        || init(vec![NOTHING; length]),
        |operation, number| {
            let data = elements(comm, length, number);
            operation.buffer_mut().copy_from_slice(&data);
        },
        |operation| &operation.buffer()[..left],
        |number| {
            let mut expected = elements(comm, length, number);
            once(&mut expected)?;
            expected.truncate(left);
            Ok(expected)
        },
    )
}

/// An operation that moves elements from one slice to another repeats, with what is kept for it.
#[inline]
fn copies<M: Mover>(
    comm: &Communicator,
    lengths: [usize; 2],
    kept: impl for<'a> Kept<Lent<'a> = M::With<'a>>,
) -> Result<bool> {
    let init = |send, recv| {
        let buffers = (send, recv);
        moves::persistent::<M, _, _, _, _>(comm, buffers, Shape::both(), kept.clone())
    };
    let once = |send: &[usize], recv: &mut [usize]| {
        moves::moved::<M, usize>(comm, Some(send), recv, kept.lent())
    };
    between(comm, lengths, &init, &once)
}

/// The same within one slice.
#[inline]
fn in_one<M: Mover + OneSlice>(
    comm: &Communicator,
    lengths: [usize; 2],
    kept: impl for<'a> Kept<Lent<'a> = M::With<'a>>,
) -> Result<bool> {
    let init = |data| moves::persistent::<M, _, _, _, _>(comm, data, Shape::one(), kept.clone());
    let once = |data: &mut [usize]| moves::moved_in_place::<M, usize>(comm, data, kept.lent());
    alone(comm, lengths, &init, &once)
}

/// A reduction repeats, of blocks of that length, from one slice to another and in place; `whole`
/// is what is sent.
#[inline]
fn reduces<R: Reducer + OneSlice>(
    comm: &Communicator,
    [whole, length]: [usize; 2],
    kept: impl for<'a> Kept<Lent<'a> = R::With<'a>>,
) -> Result<bool> {
    let init = |send, recv| {
        let (buffers, shape) = ((send, recv), Shape::both());
        reductions::persistent::<R, _, _, _, _, _>(comm, buffers, shape, Sum, kept.clone())
    };
    let once = |send: &[usize], recv: &mut [usize]| {
        reductions::reduce::<R, usize, _>(comm, send, recv, Sum, kept.lent())
    };
    let init_in_place = |data| {
        let shape = Shape::one();
        reductions::persistent::<R, _, _, _, _, _>(comm, data, shape, Sum, kept.clone())
    };
    let once_in_place = |data: &mut [usize]| {
        reductions::reduce_in_place::<R, usize, _>(comm, data, Sum, kept.lent())
    };
    Ok(between(comm, [whole, length], &init, &once)?
        && alone(comm, [whole, length], &init_in_place, &once_in_place)?)
}

/// Returns `true` if all operations on blocks of that length repeat.
#[inline]
fn blocks_move(comm: &Communicator, length: usize) -> Result<bool> {
    let whole = length * comm.size();
    let blocks = &Blocks::from_counts(&vec![length; comm.size()])?;
    let (one, all) = ([length; 2], [whole; 2]);
    let (gathered, scattered) = ([length, whole], [whole, length]);
    // Those that are known to fail come first.
    for root in 0..comm.size() {
        let here = if comm.rank() == root { all } else { one };
        let at = || (blocks.clone(), root);
        let is_right = copies::<Gather>(comm, gathered, root)?
            && copies::<Scatter>(comm, scattered, root)?
            && copies::<Gatherv>(comm, gathered, at())?
            && copies::<Scatterv>(comm, scattered, at())?
            && reduces::<Reduce>(comm, one, root)?
            && in_one::<Bcast>(comm, one, root)?
            && in_one::<Gather>(comm, here, root)?
            && in_one::<Gatherv>(comm, here, at())?
            && in_one::<Scatter>(comm, here, root)?
            && in_one::<Scatterv>(comm, here, at())?;
        if !is_right {
            return Ok(false);
        }
    }
    let own = || blocks.clone();
    let each = (0..comm.size()).map(|rank| Layout::contiguous(length).at(rank * length));
    let layouts = Layouts::new(each);
    let is_right = in_one::<Allgather>(comm, all, ())?
        && in_one::<Allgatherv>(comm, all, own())?
        && in_one::<Alltoall>(comm, all, ())?
        && copies::<Allgather>(comm, gathered, ())?
        && copies::<Allgatherv>(comm, gathered, own())?
        && copies::<Alltoall>(comm, all, ())?
        && copies::<Alltoallv>(comm, all, (own(), own()))?
        && copies::<Alltoallw>(comm, all, (layouts.clone(), layouts))?
        && reduces::<Allreduce>(comm, one, ())?
        && reduces::<Scan>(comm, one, ())?
        && reduces::<Exscan>(comm, one, ())?
        && reduces::<ReduceScatterBlock>(comm, scattered, ())?
        && reduces::<ReduceScatter>(comm, scattered, own())?;
    Ok(is_right && neighbors_exchange(comm, length)?)
}

/// Returns `true` if all operations among neighbours repeat: in a row of two, or on one rank that
/// has none.
#[inline]
fn neighbors_exchange(comm: &Communicator, length: usize) -> Result<bool> {
    let Some(row) = comm.cart_create(&[comm.size()], &[false], false)? else {
        return Ok(true);
    };
    let whole = 2 * length;
    let blocks = Blocks::from_counts(&[length; 2])?;
    let layouts = Layouts::new([0, length].map(|start| Layout::contiguous(length).at(start)));
    let around = || Around(row.clone());
    let (one, all) = ([length, whole], [whole; 2]);
    let is_right = copies::<NeighborAllgather>(&row, one, around())?
        && copies::<NeighborAllgatherv>(&row, one, (around(), blocks.clone()))?
        && copies::<NeighborAlltoall>(&row, all, around())?
        && copies::<NeighborAlltoallv>(&row, all, (around(), blocks.clone(), blocks))?
        && copies::<NeighborAlltoallw>(&row, all, (around(), layouts.clone(), layouts))?;
    Ok(is_right)
}

/// Returns `true` if a barrier waits for who has not started it, at each start.
#[inline]
fn barriers_wait(comm: &Communicator) -> Result<bool> {
    const LOOKS: usize = 100;
    let mut barrier = barrier::persistent(comm)?;
    let mut waits = true;
    for late in 0..2 * comm.size() {
        let late = late % comm.size();
        if comm.rank() != late {
            let mut active = barrier.start()?;
            for _ in 0..LOOKS {
                waits &= !active.test()?;
            }
            comm.send(&[0_u8], late, 0)?;
            (barrier, _) = active.wait()?;
        } else {
            if comm.size() > 1 {
                comm.recv(&mut [0_u8], 1 - late, 0)?;
            }
            (barrier, _) = barrier.start()?.wait()?;
        }
    }
    barrier.free()?;
    Ok(waits)
}
