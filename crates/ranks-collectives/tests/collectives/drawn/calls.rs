//! What a rank passes to a call and what it must find afterwards, computed here from the samples of
//! all ranks.

use std::ops::Range;

use ranks_collectives::Blocks;
use ranks_comm::Communicator;

use super::cases::{Drawn, Operation};
use crate::model::{Sample, block};

/// One rank's part in a call.
pub(super) struct Call<T> {
    pub(super) operation: Operation,
    pub(super) root: usize,
    pub(super) send: Vec<T>,
    /// What the receive buffer holds before, and after.
    pub(super) recv: Vec<T>,
    pub(super) expected: Vec<T>,
    /// Where the rank's own block is in the receive buffer, if it gathers.
    pub(super) own: Range<usize>,
    /// The blocks of the side of this rank that has several.
    pub(super) blocks: Blocks,
    pub(super) at_root: bool,
}

fn canaries<T: Sample>(length: usize) -> Vec<T> {
    vec![T::sample(77, 123_456); length]
}

/// Canaries, with what `of` says in each rank's block.
fn placed<T: Sample>(blocks: &Blocks, of: impl Fn(usize, usize) -> Vec<T>) -> Vec<T> {
    let mut whole = canaries(blocks.end());
    for (rank, &count) in blocks.counts().iter().enumerate() {
        whole[blocks.range(rank)].copy_from_slice(&of(rank, count));
    }
    whole
}

/// What the ranks make together of the samples from `start` on.
fn folded<T: Sample>(
    ranks: Range<usize>,
    start: usize,
    length: usize,
    fold: fn(T, T) -> T,
) -> Vec<T> {
    let mut result = block::<T>(ranks.start, start, length);
    for rank in ranks.skip(1) {
        for (index, left) in result.iter_mut().enumerate() {
            *left = fold(*left, T::sample(rank, start + index));
        }
    }
    result
}

impl<T: Sample> Call<T> {
    /// The part of this rank; the samples differ from round to round.
    pub(super) fn new(
        world: &Communicator,
        drawn: &Drawn,
        round: usize,
        fold: fn(T, T) -> T,
    ) -> Call<T> {
        let (me, size) = (world.rank(), world.size());
        let (length, base) = (drawn.length, 31 * round);
        let at_root = me == drawn.root;
        let here = |buffer: Vec<T>| if at_root { buffer } else { Vec::new() };
        let of = |rank: usize, count: usize| block::<T>(rank, base, count);
        let even = Blocks::from_counts(&vec![length; size]).unwrap();
        let row = if drawn.operation == Operation::Alltoallv {
            me
        } else {
            0
        };
        let uneven = drawn.blocks(row);
        // From `from` to `to`, of an exchange of as much.
        let between = |from: usize, to: usize, count: usize| block(from, base + 1000 * to, count);
        let mut blocks = even.clone();
        let (send, recv, expected) = match drawn.operation {
            Operation::Bcast => {
                let sent = of(drawn.root, length);
                let recv = if at_root {
                    sent.clone()
                } else {
                    canaries(length)
                };
                (Vec::new(), recv, sent)
            }
            Operation::Gather => {
                let all = placed(&even, of);
                let spare = canaries(5);
                let expected = if at_root { all } else { spare };
                (of(me, length), canaries(expected.len()), expected)
            }
            Operation::Gatherv => {
                blocks = uneven;
                let all = placed(&blocks, of);
                let expected = if at_root { all } else { canaries(5) };
                let send = of(me, blocks.counts()[me]);
                (send, canaries(expected.len()), expected)
            }
            Operation::Scatter => {
                let mine = of(me, length);
                (here(placed(&even, of)), canaries(length), mine)
            }
            Operation::Scatterv => {
                blocks = uneven;
                let mine = of(me, blocks.counts()[me]);
                (here(placed(&blocks, of)), canaries(mine.len()), mine)
            }
            Operation::Allgather => {
                let all = placed(&even, of);
                (of(me, length), canaries(all.len()), all)
            }
            Operation::Allgatherv => {
                blocks = uneven;
                let all = placed(&blocks, of);
                let send = of(me, blocks.counts()[me]);
                (send, canaries(all.len()), all)
            }
            Operation::Alltoall | Operation::Alltoallv => {
                if drawn.operation == Operation::Alltoallv {
                    blocks = uneven;
                }
                let send = placed(&blocks, |to, count| between(me, to, count));
                let expected = placed(&blocks, |from, count| between(from, me, count));
                (send, canaries(expected.len()), expected)
            }
            Operation::Reduce => {
                let all = folded(0..size, base, length, fold);
                let expected = if at_root { all } else { canaries(5) };
                (of(me, length), canaries(expected.len()), expected)
            }
            Operation::Allreduce => {
                let all = folded(0..size, base, length, fold);
                (of(me, length), canaries(length), all)
            }
            Operation::ReduceScatterBlock | Operation::ReduceScatter => {
                if drawn.operation == Operation::ReduceScatter {
                    blocks = drawn.packed();
                }
                let share = blocks.range(me);
                let expected = folded(0..size, base + share.start, share.len(), fold);
                (of(me, blocks.end()), canaries(share.len()), expected)
            }
            Operation::Scan => {
                let expected = folded(0..me + 1, base, length, fold);
                (of(me, length), canaries(length), expected)
            }
            Operation::Exscan => {
                let below = || folded(0..me, base, length, fold);
                let expected = if me > 0 { below() } else { canaries(length) };
                (of(me, length), canaries(length), expected)
            }
        };
        Call {
            operation: drawn.operation,
            root: drawn.root,
            send,
            recv,
            expected,
            own: blocks.range(me),
            blocks,
            at_root,
        }
    }

    /// What the one buffer of the form in place holds before, and what its beginning holds after.
    pub(super) fn in_place(&self) -> (Vec<T>, &[T]) {
        let gathered = || {
            let mut data = self.recv.clone();
            data[self.own.clone()].copy_from_slice(&self.send);
            (data, &self.expected[..])
        };
        let sent_stays = || (self.send.clone(), &self.send[..]);
        match self.operation {
            Operation::Bcast => (self.recv.clone(), &self.expected),
            Operation::Gather | Operation::Gatherv if self.at_root => gathered(),
            Operation::Allgather | Operation::Allgatherv => gathered(),
            Operation::Gather | Operation::Gatherv => sent_stays(),
            Operation::Scatter | Operation::Scatterv if self.at_root => sent_stays(),
            Operation::Scatter | Operation::Scatterv => (self.recv.clone(), &self.expected),
            Operation::Reduce if !self.at_root => sent_stays(),
            // Nobody is below rank 0.
            Operation::Exscan if self.recv == self.expected => sent_stays(),
            _ => (self.send.clone(), &self.expected),
        }
    }
}
