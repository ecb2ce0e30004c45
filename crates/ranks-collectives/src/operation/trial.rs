//! Persistent collectives that a library keeps are relied on after a trial, once in a process.
//!
//! Libraries send what was there when an operation was prepared, or mix up operations that ranks
//! start in different orders, without an error: MPICH 4.0 to 4.2 in gather, scatter or allgather,
//! Intel MPI 2021 in all. So each operation is tried before the first is prepared: two alike,
//! started twice with other data, in opposite orders on the two ranks, compared with the blocking
//! operation. A library that fails is not asked for that operation.
//!
//! Two ranks are enough to see it, and more may be too many: where a rank of MPICH 4.2 scatters old
//! data to two others, one of them waits for ever. So the first two of a communicator try, one form
//! of the operation after the other until one fails, and all ranks of it are told.
//!
//! All operations on one type are much to compile, and most programs prepare few. What leads here
//! is `#[inline]` all the way from `kept`, so that it is compiled where it is used alone.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};

use ranks_comm::backend::{Backend, MpiComm, StartedOp, unobserved};
use ranks_comm::layout::Layout;
use ranks_comm::{Cartesian, Communicator, Error, Persistent, Result};

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
use crate::operation::barrier::{self, Barrier};
use crate::operation::between_groups::BetweenGroups;
use crate::operation::moves::{Mover, OneSlice};
use crate::operation::reductions::Reducer;
use crate::operation::{moves, reductions};
use crate::ops::Sum;

/// The knowledge of this process about its library.
const UNTRIED: u8 = 0;
const PASSED: u8 = 1;
const FAILED: u8 = 2;

/// The outcome of trials of an operation, of one rank and of two.
pub(crate) type Shown = [AtomicU8; 2];

/// An operation that is tried.
pub(crate) trait Tried {
    /// The outcome in this process.
    fn shown() -> &'static Shown;

    /// Returns `true` if all forms of it repeat, of blocks of that length. The same on all ranks.
    fn repeats(comm: &Communicator, length: usize) -> Result<bool>;
}

thread_local! {
    /// That what this thread prepares is a part of a trial.
    static TRYING: Cell<bool> = const { Cell::new(false) };
}

/// The persistent request of the library, made by `over_mpi`, where that can be relied on; nothing
/// elsewhere, and the operation is begun anew at each start then. Collective; the same on all
/// ranks.
#[inline]
pub(crate) fn kept<O: Tried, P: Proven>(
    comm: &Communicator,
    call: CallSignature,
    proven: Result<P>,
    over_mpi: impl FnOnce(&MpiComm, P) -> Result<Option<StartedOp>>,
) -> Result<Option<StartedOp>> {
    let is_reliable = is_reliable::<O>(comm, call.operation())?;
    carry_out(comm, call, proven, |proven| match comm.backend() {
        Backend::Mpi(comm) if is_reliable => over_mpi(comm, proven),
        _ => Ok(None),
    })
}

/// Returns `true` if all ranks may leave the persistent operation to the library.
#[inline]
fn is_reliable<O: Tried>(comm: &Communicator, operation: &'static str) -> Result<bool> {
    let is_over_mpi = matches!(comm.backend(), Backend::Mpi(_));
    // What is tried in one group says nothing about two.
    if !is_over_mpi || comm.is_between() || !mpi::keeps_collectives() {
        return Ok(false);
    }
    if TRYING.get() {
        return Ok(true);
    }
    let shown = &O::shown()[usize::from(comm.size() > 1)];
    // Ranks may have met in other communicators before, some of them.
    let known = comm.exchange(operation, &[shown.load(Ordering::Relaxed)])?;
    let verdict = if known.contains(&FAILED) {
        FAILED
    } else if known.contains(&UNTRIED) {
        unobserved(|| {
            let two = comm.split((comm.rank() < 2).then_some(0), 0)?;
            let verdict = two.map_or(PASSED, |two| match try_on::<O>(&two) {
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

/// Tries the operation on one rank or two.
#[inline]
fn try_on<O: Tried>(comm: &Communicator) -> Result<bool> {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            TRYING.set(false);
        }
    }
    TRYING.set(true);
    let _reset = Reset;
    // What libraries treat as short, and what as long.
    Ok(O::repeats(comm, 1)? && O::repeats(comm, 5000)?)
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
    length: usize,
    kept: impl for<'a> Kept<Lent<'a> = M::With<'a>>,
) -> Result<bool> {
    let init = |data| moves::persistent::<M, _, _, _, _>(comm, data, Shape::one(), kept.clone());
    let once = |data: &mut [usize]| moves::moved_in_place::<M, usize>(comm, data, kept.lent());
    alone(comm, [length; 2], &init, &once)
}

/// Either way; `here` is the length of the one slice.
#[inline]
fn both<M: Mover + OneSlice>(
    comm: &Communicator,
    lengths: [usize; 2],
    here: usize,
    kept: impl for<'a> Kept<Lent<'a> = M::With<'a>>,
) -> Result<bool> {
    Ok(copies::<M>(comm, lengths, kept.clone())? && in_one::<M>(comm, here, kept)?)
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

/// An operation repeats at each root: `repeats` is passed one, and the length of the slice in place
/// there or elsewhere.
#[inline]
fn at_each_root(
    comm: &Communicator,
    block: usize,
    mut repeats: impl FnMut(usize, usize) -> Result<bool>,
) -> Result<bool> {
    for root in 0..comm.size() {
        let is_root = comm.rank() == root;
        let here = if is_root { block * comm.size() } else { block };
        if !repeats(root, here)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Blocks of that length, one a rank.
#[inline]
fn blocks(comm: &Communicator, length: usize) -> Result<Blocks> {
    Blocks::from_counts(&vec![length; comm.size()])
}

/// So many blocks of that length as layouts.
#[inline]
fn layouts(count: usize, length: usize) -> Layouts {
    Layouts::new((0..count).map(|block| Layout::contiguous(length).at(block * length)))
}

/// An operation among neighbours repeats: in a row of two, or on one rank that has none.
#[inline]
fn in_a_row<M: Mover, K: for<'a> Kept<Lent<'a> = M::With<'a>>>(
    comm: &Communicator,
    lengths: [usize; 2],
    kept: impl FnOnce(Around<Cartesian>) -> K,
) -> Result<bool> {
    match comm.cart_create(&[comm.size()], &[false], false)? {
        Some(row) => copies::<M>(&row, lengths, kept(Around(row.clone()))),
        None => Ok(true),
    }
}

/// The rows: what is tried of each operation, by the lengths of one block and of all.
macro_rules! tried {
    ($($operation:ident: |$comm:ident, $one:ident, $all:pat_param| $repeats:expr;)*) => { $(
        impl Tried for $operation {
            fn shown() -> &'static Shown {
                static SHOWN: Shown = [const { AtomicU8::new(UNTRIED) }; 2];
                &SHOWN
            }

            #[inline]
            fn repeats($comm: &Communicator, $one: usize) -> Result<bool> {
                let $all = $one * $comm.size();
                Ok($repeats)
            }
        }
    )* };
}

tried! {
    Barrier: |comm, _length, _| waits(comm)?;
    Bcast: |comm, one, _| at_each_root(comm, one, |root, _| in_one::<Bcast>(comm, one, root))?;
    Gather: |comm, one, all| {
        at_each_root(comm, one, |root, here| both::<Gather>(comm, [one, all], here, root))?
    };
    Scatter: |comm, one, all| {
        at_each_root(comm, one, |root, here| both::<Scatter>(comm, [all, one], here, root))?
    };
    Allgather: |comm, one, all| both::<Allgather>(comm, [one, all], all, ())?;
    Alltoall: |comm, _one, all| both::<Alltoall>(comm, [all; 2], all, ())?;

    Gatherv: |comm, one, all| {
        let blocks = blocks(comm, one)?;
        let with = |root| (blocks.clone(), root);
        at_each_root(comm, one, |root, here| both::<Gatherv>(comm, [one, all], here, with(root)))?
    };
    Scatterv: |comm, one, all| {
        let blocks = blocks(comm, one)?;
        let with = |root| (blocks.clone(), root);
        at_each_root(comm, one, |root, here| both::<Scatterv>(comm, [all, one], here, with(root)))?
    };
    Allgatherv: |comm, one, all| both::<Allgatherv>(comm, [one, all], all, blocks(comm, one)?)?;
    Alltoallv: |comm, one, all| {
        let blocks = blocks(comm, one)?;
        copies::<Alltoallv>(comm, [all; 2], (blocks.clone(), blocks))?
    };
    Alltoallw: |comm, one, all| {
        let layouts = layouts(comm.size(), one);
        copies::<Alltoallw>(comm, [all; 2], (layouts.clone(), layouts))?
    };

    Reduce: |comm, one, _| at_each_root(comm, one, |root, _| reduces::<Reduce>(comm, [one; 2], root))?;
    Allreduce: |comm, one, _| reduces::<Allreduce>(comm, [one; 2], ())?;
    Scan: |comm, one, _| reduces::<Scan>(comm, [one; 2], ())?;
    Exscan: |comm, one, _| reduces::<Exscan>(comm, [one; 2], ())?;
    ReduceScatterBlock: |comm, one, all| reduces::<ReduceScatterBlock>(comm, [all, one], ())?;
    ReduceScatter: |comm, one, all| reduces::<ReduceScatter>(comm, [all, one], blocks(comm, one)?)?;

    NeighborAllgather: |comm, one, _| {
        in_a_row::<NeighborAllgather, _>(comm, [one, 2 * one], |row| row)?
    };
    NeighborAllgatherv: |comm, one, _| {
        let blocks = Blocks::from_counts(&[one; 2])?;
        in_a_row::<NeighborAllgatherv, _>(comm, [one, 2 * one], |row| (row, blocks))?
    };
    NeighborAlltoall: |comm, one, _| {
        in_a_row::<NeighborAlltoall, _>(comm, [2 * one; 2], |row| row)?
    };
    NeighborAlltoallv: |comm, one, _| {
        let blocks = Blocks::from_counts(&[one; 2])?;
        in_a_row::<NeighborAlltoallv, _>(comm, [2 * one; 2], |row| (row, blocks.clone(), blocks))?
    };
    NeighborAlltoallw: |comm, one, _| {
        let layouts = layouts(2, one);
        in_a_row::<NeighborAlltoallw, _>(comm, [2 * one; 2], |row| (row, layouts.clone(), layouts))?
    };
}

/// Nothing: an intercommunicator is asked for none.
impl<O> Tried for BetweenGroups<O> {
    fn shown() -> &'static Shown {
        static SHOWN: Shown = [const { AtomicU8::new(FAILED) }; 2];
        &SHOWN
    }

    fn repeats(_: &Communicator, _: usize) -> Result<bool> {
        Ok(false)
    }
}

/// Returns `true` if a barrier waits for who has not started it, at each start.
#[inline]
fn waits(comm: &Communicator) -> Result<bool> {
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
