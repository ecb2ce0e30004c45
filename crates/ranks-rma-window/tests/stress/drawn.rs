//! Operations drawn so that whatever order they take effect in, the memory is the same after each
//! round, and a model of it.

use ranks_collectives::ops::{Bxor, Max, Min, Sum};
use ranks_comm::Result;
use ranks_rma_window::{Accumulation, Locked, NoOp, Operations, Replace};

use super::Load;

/// Number of elements that share one draw.
pub(crate) const BLOCK: usize = 8;

/// A number that looks random, of some others.
pub(crate) fn hash(words: &[usize]) -> usize {
    let mixed = words.iter().fold(0x9e37_79b9_7f4a_7c15, |state, word| {
        let mut state: u64 = state ^ (*word as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
        state ^= state >> 32;
        state = state.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        state ^ (state >> 29)
    });
    (mixed >> 1) as usize
}

/// Operation that all ranks use on an element in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Sum,
    Bxor,
    Max,
    Min,
}

/// Use of a block in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// One rank puts there.
    Written { by: usize },
    /// One rank does what it likes, and knows what comes of it.
    Changed { by: usize },
    /// All ranks look at it.
    Read,
    /// All ranks accumulate, and nobody looks.
    Accumulated(Which),
    /// All ranks add, and look at what they found.
    Counted,
}

/// Uses of all blocks in a round.
pub(crate) struct Blocks {
    /// By rank.
    uses: Vec<Vec<Use>>,
    /// On which ranks locks exclude others.
    exclusive: Vec<bool>,
    draw: usize,
}

impl Blocks {
    pub(crate) fn draw(draw: usize, size: usize, load: Load, locks: bool) -> Self {
        let one = |target, block| {
            let draw = hash(&[draw, target, block]);
            let by = hash(&[draw, 1]) % size;
            match draw % 6 {
                0 => Use::Written { by },
                1 | 2 => Use::Changed { by },
                3 => Use::Read,
                4 => Use::Accumulated(
                    [Which::Sum, Which::Bxor, Which::Max, Which::Min][hash(&[draw, 2]) % 4],
                ),
                _ => Use::Counted,
            }
        };
        let of = |target| (0..load.blocks).map(|block| one(target, block)).collect();
        Self {
            uses: (0..size).map(of).collect(),
            exclusive: (0..size)
                .map(|target| locks && hash(&[draw, target]).is_multiple_of(2))
                .collect(),
            draw,
        }
    }

    pub(crate) fn is_exclusive(&self, target: usize) -> bool {
        self.exclusive[target]
    }
}

/// Kind of an operation, with the value that it is to find.
#[derive(Debug)]
enum Kind {
    Put,
    Get,
    Accumulate(Which),
    GetAccumulate(Which),
    Replace,
    FetchAndOp(Which),
    CompareAndSwap { expected: i32 },
}

/// Contents before the operation.
#[derive(Debug)]
enum Before {
    /// It is not looked at.
    Unknown,
    Exactly(Vec<i32>),
    /// Something in between: others add as well.
    Between(i32, i32),
}

/// An operation of this rank.
#[derive(Debug)]
pub(crate) struct Drawn {
    kind: Kind,
    target: usize,
    at: usize,
    data: Vec<i32>,
    found: Vec<i32>,
    before: Before,
}

/// The memory of all ranks as it is to be.
pub(crate) struct Memory {
    ranks: Vec<Vec<i32>>,
}

impl Memory {
    pub(crate) fn new(size: usize, blocks: usize) -> Self {
        Self {
            ranks: vec![vec![0; blocks * BLOCK]; size],
        }
    }

    pub(crate) fn of(&self, rank: usize) -> &[i32] {
        &self.ranks[rank]
    }

    /// Makes the operations of all ranks in a round, one after another, and returns those of
    /// `rank`.
    ///
    /// If they are not over at once, no two of a rank may come to one element unless both
    /// accumulate in the same way.
    pub(crate) fn round(
        &mut self,
        blocks: &Blocks,
        operations: usize,
        rank: usize,
        at_once: bool,
    ) -> Vec<Drawn> {
        let mut mine = Vec::new();
        let before = self.ranks.clone();
        for origin in 0..self.ranks.len() {
            let mut drawing = Drawing {
                blocks,
                before: &before,
                origin,
                at_once,
                touched: vec![false; before.len() * before[0].len()],
                count: 0,
            };
            for _ in 0..operations {
                let operation = drawing.one(&mut self.ranks);
                if origin == rank {
                    mine.push(operation);
                }
            }
        }
        // Now it is known how much was added.
        for operation in &mut mine {
            if let Before::Between(_, most) = &mut operation.before {
                *most = self.ranks[operation.target][operation.at];
            }
        }
        mine
    }
}

/// The operations of one rank in a round.
struct Drawing<'a> {
    blocks: &'a Blocks,
    /// Contents when the round began.
    before: &'a [Vec<i32>],
    origin: usize,
    at_once: bool,
    /// Elements that something other than an accumulation was begun on.
    touched: Vec<bool>,
    count: usize,
}

impl Drawing<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        self.count += 1;
        hash(&[self.blocks.draw, self.origin, self.count]) % sides
    }

    fn values(&mut self, len: usize) -> Vec<i32> {
        (0..len)
            .map(|_| self.roll(1 << 12) as i32 - (1 << 11))
            .collect()
    }

    /// Returns true if this rank comes to these elements for the first time.
    fn touch(&mut self, target: usize, at: usize, len: usize) -> bool {
        let start = target * self.before[0].len() + at;
        let elements = &mut self.touched[start..start + len];
        let fresh = !elements.contains(&true);
        elements.fill(true);
        fresh
    }

    /// The next operation, which is made on `memory`.
    fn one(&mut self, memory: &mut [Vec<i32>]) -> Drawn {
        loop {
            let target = self.roll(self.blocks.uses.len());
            let block = self.roll(self.blocks.uses[target].len());
            let from = self.roll(BLOCK);
            let len = 1 + self.roll(BLOCK - from);
            let at = block * BLOCK + from;
            // What was begun before is over, or was begun elsewhere.
            let fresh = |drawing: &mut Self, by| {
                by == drawing.origin && (drawing.at_once || drawing.touch(target, at, len))
            };
            let drawn = match self.blocks.uses[target][block] {
                Use::Written { by } if fresh(self, by) => {
                    let data = self.values(len);
                    memory[target][at..at + len].copy_from_slice(&data);
                    self.drawn(Kind::Put, target, at, data, Before::Unknown)
                }
                Use::Changed { by } if fresh(self, by) => self.changed(memory, target, at, len),
                Use::Read => {
                    let there = self.before[target][at..at + len].to_vec();
                    self.drawn(Kind::Get, target, at, vec![0; len], Before::Exactly(there))
                }
                Use::Accumulated(which) => {
                    let data = self.values(len);
                    which.apply(&mut memory[target][at..at + len], &data);
                    self.drawn(Kind::Accumulate(which), target, at, data, Before::Unknown)
                }
                Use::Counted => {
                    let data = vec![1 + self.roll(5) as i32];
                    let least = self.before[target][at];
                    Which::Sum.apply(&mut memory[target][at..=at], &data);
                    let kind = Kind::FetchAndOp(Which::Sum);
                    self.drawn(kind, target, at, data, Before::Between(least, least))
                }
                // Somebody else's, or done: all ranks may always read something of what nobody
                // changes; if there is nothing of the kind, a put of nothing.
                Use::Written { .. } | Use::Changed { .. } if self.roll(8) == 0 => {
                    self.drawn(Kind::Put, target, at, Vec::new(), Before::Unknown)
                }
                Use::Written { .. } | Use::Changed { .. } => continue,
            };
            return drawn;
        }
    }

    /// One of the operations that tell what was there, all of which this rank alone makes there.
    fn changed(&mut self, memory: &mut [Vec<i32>], target: usize, at: usize, len: usize) -> Drawn {
        let which = [Which::Sum, Which::Bxor, Which::Max, Which::Min][self.roll(4)];
        let one = self.roll(2) == 0;
        let kind = match self.roll(4) {
            0 => Kind::GetAccumulate(which),
            1 => Kind::Replace,
            2 => Kind::FetchAndOp(which),
            _ => Kind::CompareAndSwap {
                // The right one, in every other case.
                expected: memory[target][at] + i32::from(one),
            },
        };
        let len = match kind {
            Kind::FetchAndOp(_) | Kind::CompareAndSwap { .. } => 1,
            _ => len,
        };
        let there = &mut memory[target][at..at + len];
        let before = there.to_vec();
        let data = self.values(len);
        match kind {
            Kind::Replace => there.copy_from_slice(&data),
            Kind::CompareAndSwap { expected } if there[0] != expected => {}
            Kind::CompareAndSwap { .. } => there[0] = data[0],
            _ => which.apply(there, &data),
        }
        self.drawn(kind, target, at, data, Before::Exactly(before))
    }

    fn drawn(&self, kind: Kind, target: usize, at: usize, data: Vec<i32>, before: Before) -> Drawn {
        let found = vec![i32::MIN; data.len()];
        Drawn {
            kind,
            target,
            at,
            data,
            found,
            before,
        }
    }
}

impl Which {
    fn apply(self, there: &mut [i32], data: &[i32]) {
        for (there, data) in there.iter_mut().zip(data) {
            *there = match self {
                Self::Sum => *there + data,
                Self::Bxor => *there ^ data,
                Self::Max => (*there).max(*data),
                Self::Min => (*there).min(*data),
            };
        }
    }
}

impl Drawn {
    pub(crate) fn target(&self) -> usize {
        self.target
    }

    /// Begins it; it is over when the scope is.
    pub(crate) fn begin<'scope>(&'scope mut self, ops: &Operations<'scope, '_, i32>) -> Result<()> {
        let Self {
            kind,
            target,
            at,
            data,
            found,
            ..
        } = self;
        let (target, at) = (*target, *at);
        match kind {
            Kind::Put => ops.put(data, target, at),
            Kind::Get => ops.get(found, target, at),
            Kind::Accumulate(Which::Sum) => ops.accumulate(data, Sum, target, at),
            Kind::Accumulate(Which::Bxor) => ops.accumulate(data, Bxor, target, at),
            Kind::Accumulate(Which::Max) => ops.accumulate(data, Max, target, at),
            Kind::Accumulate(Which::Min) => ops.accumulate(data, Min, target, at),
            Kind::GetAccumulate(Which::Sum) => ops.get_accumulate(data, found, Sum, target, at),
            Kind::GetAccumulate(Which::Bxor) => ops.get_accumulate(data, found, Bxor, target, at),
            Kind::GetAccumulate(Which::Max) => ops.get_accumulate(data, found, Max, target, at),
            Kind::GetAccumulate(Which::Min) => ops.get_accumulate(data, found, Min, target, at),
            Kind::Replace => ops.get_accumulate(data, found, Replace, target, at),
            Kind::FetchAndOp(which) => {
                let (data, found) = (&data[0], &mut found[0]);
                match which {
                    Which::Sum => ops.fetch_and_op(data, found, Sum, target, at),
                    Which::Bxor => ops.fetch_and_op(data, found, Bxor, target, at),
                    Which::Max => ops.fetch_and_op(data, found, Max, target, at),
                    Which::Min => ops.fetch_and_op(data, found, Min, target, at),
                }
            }
            Kind::CompareAndSwap { expected } => {
                ops.compare_and_swap(expected, &data[0], &mut found[0], target, at)
            }
        }
    }

    /// Makes it; it is over at once. Nobody else is there if the lock is exclusive.
    pub(crate) fn make(&mut self, locked: &Locked<'_, i32>, exclusive: bool) -> Result<()> {
        let (target, at) = (self.target, self.at);
        match self.kind {
            Kind::Put => locked.put(&self.data, target, at),
            Kind::Get => locked.get(&mut self.found, target, at),
            // What others accumulate to can be read and written under an exclusive lock.
            Kind::Accumulate(which) | Kind::FetchAndOp(which) if exclusive => {
                locked.get(&mut self.found, target, at)?;
                let mut changed = self.found.clone();
                which.apply(&mut changed, &self.data);
                locked.put(&changed, target, at)
            }
            Kind::Accumulate(Which::Sum) => locked.accumulate(&self.data, Sum, target, at),
            Kind::Accumulate(Which::Bxor) => locked.accumulate(&self.data, Bxor, target, at),
            Kind::Accumulate(Which::Max) => locked.accumulate(&self.data, Max, target, at),
            Kind::Accumulate(Which::Min) => locked.accumulate(&self.data, Min, target, at),
            Kind::GetAccumulate(Which::Sum) => self.get_accumulate(locked, Sum),
            Kind::GetAccumulate(Which::Bxor) => self.get_accumulate(locked, Bxor),
            Kind::GetAccumulate(Which::Max) => self.get_accumulate(locked, Max),
            Kind::GetAccumulate(Which::Min) => self.get_accumulate(locked, Min),
            Kind::Replace => self.get_accumulate(locked, Replace),
            Kind::FetchAndOp(Which::Sum) => self.fetch_and_op(locked, Sum),
            Kind::FetchAndOp(Which::Bxor) => self.fetch_and_op(locked, Bxor),
            Kind::FetchAndOp(Which::Max) => self.fetch_and_op(locked, Max),
            Kind::FetchAndOp(Which::Min) => self.fetch_and_op(locked, Min),
            Kind::CompareAndSwap { expected } => {
                let (now, new) = (locked.fetch_and_op(0, NoOp, target, at)?, self.data[0]);
                self.found[0] = locked.compare_and_swap(expected, new, target, at)?;
                assert_eq!(self.found[0], now, "nobody else is there");
                Ok(())
            }
        }
    }

    fn get_accumulate<O: Accumulation<i32>>(
        &mut self,
        locked: &Locked<'_, i32>,
        op: O,
    ) -> Result<()> {
        locked.get_accumulate(&self.data, &mut self.found, op, self.target, self.at)
    }

    fn fetch_and_op<O: Accumulation<i32>>(
        &mut self,
        locked: &Locked<'_, i32>,
        op: O,
    ) -> Result<()> {
        self.found[0] = locked.fetch_and_op(self.data[0], op, self.target, self.at)?;
        Ok(())
    }

    /// Looks whether each found what it was to find.
    #[track_caller]
    pub(crate) fn check(all: &[Self]) {
        for drawn in all {
            match &drawn.before {
                Before::Unknown => {}
                Before::Exactly(before) => assert_eq!(drawn.found, *before, "{drawn:?}"),
                Before::Between(least, most) => {
                    let found = drawn.found[0];
                    assert!(
                        *least <= found && found + drawn.data[0] <= *most,
                        "{drawn:?}"
                    );
                }
            }
        }
    }
}
