//! What is drawn: the arguments of one call, the same on every rank.

use ranks_collectives::Blocks;

use crate::model::{LONGEST, long};

/// The operations, each of which comes to its turn.
pub(super) const OPERATIONS: [Operation; 15] = [
    Operation::Bcast,
    Operation::Gather,
    Operation::Gatherv,
    Operation::Scatter,
    Operation::Scatterv,
    Operation::Allgather,
    Operation::Allgatherv,
    Operation::Alltoall,
    Operation::Alltoallv,
    Operation::Reduce,
    Operation::Allreduce,
    Operation::ReduceScatterBlock,
    Operation::ReduceScatter,
    Operation::Scan,
    Operation::Exscan,
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Reduce,
    Allreduce,
    ReduceScatterBlock,
    ReduceScatter,
    Scan,
    Exscan,
}

/// Element types: those that MPI has, and others of 24, 3 and no bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Element {
    U8,
    I16,
    U32,
    I64,
    F32,
    F64,
    Bytes,
    Particle,
    Nothing,
}

const ELEMENTS: [Element; 9] = [
    Element::U8,
    Element::I16,
    Element::U32,
    Element::I64,
    Element::F32,
    Element::F64,
    Element::Bytes,
    Element::Particle,
    Element::Nothing,
];

/// Numbers that look random and are the same wherever the seed is the same (splitmix64).
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize % limit
    }

    /// Mostly few; often none or one; rarely more than is eager anywhere.
    fn length(&mut self) -> usize {
        match self.below(48) {
            0..8 => 0,
            8..14 => 1,
            14..16 => long(4096),
            16 => LONGEST,
            _ => 2 * self.below(long(150)) + 1,
        }
    }

    fn shuffled(&mut self, ranks: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..ranks).collect();
        for left in (1..ranks).rev() {
            order.swap(left, self.below(left + 1));
        }
        order
    }
}

/// The arguments of a call on all ranks.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) operation: Operation,
    pub(super) element: Element,
    /// Of the blocks of operations whose blocks have one length.
    pub(super) length: usize,
    pub(super) root: usize,
    /// What each rank has for each other; as much as that has for it. Operations with one block a
    /// rank take the first row.
    pub(super) counts: Vec<Vec<usize>>,
    /// The order in which blocks lie; `None` for one after the other.
    places: Option<Vec<usize>>,
    /// The number of elements between them, and before the first.
    gap: usize,
}

impl Drawn {
    pub(super) fn new(dice: &mut Dice, case: usize, ranks: usize) -> Drawn {
        // One for each two ranks: (0, 0), (0, 1), (1, 1), (0, 2), …
        let pairs: Vec<usize> = (0..ranks * (ranks + 1) / 2)
            .map(|_| dice.length())
            .collect();
        let between = |one: usize, other: usize| {
            let higher = one.max(other);
            pairs[higher * (higher + 1) / 2 + one.min(other)]
        };
        let counts = (0..ranks)
            .map(|one| (0..ranks).map(|other| between(one, other)).collect())
            .collect();
        Drawn {
            operation: OPERATIONS[case % OPERATIONS.len()],
            element: ELEMENTS[dice.below(ELEMENTS.len())],
            length: dice.length(),
            root: dice.below(ranks),
            counts,
            places: (dice.below(3) > 0).then(|| dice.shuffled(ranks)),
            gap: dice.below(4),
        }
    }

    /// The same, with blocks of [`LONGEST`] bytes at most.
    pub(super) fn cut_for<T>(&self) -> Drawn {
        let mut cut = self.clone();
        let longest = LONGEST / size_of::<T>().max(1);
        for count in cut.counts.iter_mut().flatten().chain([&mut cut.length]) {
            *count = (*count).min(longest);
        }
        cut
    }

    /// The blocks of what one rank has for each, or of what each has.
    pub(super) fn blocks(&self, row: usize) -> Blocks {
        let counts = &self.counts[row];
        let Some(order) = &self.places else {
            return Blocks::from_counts(counts).unwrap();
        };
        let (mut places, mut end) = (vec![0; counts.len()], 0);
        for &rank in order {
            places[rank] = end + self.gap;
            end = places[rank] + counts[rank];
        }
        Blocks::new(counts, &places).unwrap()
    }

    /// The same lengths one after the other: reductions take no others.
    pub(super) fn packed(&self) -> Blocks {
        Blocks::from_counts(&self.counts[0]).unwrap()
    }
}
