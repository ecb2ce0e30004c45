//! Thousands of operations of every kind on windows, under locks and between fences, against a
//! model that makes them one after another; and what can be built on atomic operations alone: a
//! counter, a queue, a stack.
//!
//! All that is random follows from numbers that every rank knows, so that each rank has the model
//! of all memory, and a run can be repeated. `RANKS_TEST_OPERATIONS` says how many operations the
//! long run is to have, of all ranks together.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::indexing_slicing,
    reason = "a failure is a failed test, and numbers of ranks and operations are small"
)]

mod drawn;
mod shared_things;

use ranks_collectives::Collectives;
use ranks_comm::{Backend, Communicator, Result, Runtime};
use ranks_rma_window::LockKind::{Exclusive, Shared};
use ranks_rma_window::{PassiveWindow, Window};

use drawn::{BLOCK, Blocks, Drawn, Memory, hash};

/// Size of a run.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Number of times that the window changes from fences to locks or back.
    turns: usize,
    /// Number of times that all ranks meet in between and look what has become of the memory.
    rounds: usize,
    /// Of each rank in a round.
    operations: usize,
    /// Of each rank's memory, in blocks.
    blocks: usize,
}

impl Load {
    /// Some thousand operations; fewer where many ranks have few processors.
    fn usual(size: usize) -> Self {
        Self {
            turns: 3,
            rounds: if size > 2 { 2 } else { 4 },
            operations: if size > 2 { 25 } else { 60 },
            blocks: 12,
        }
    }

    /// At least so many operations of all ranks together.
    fn of(total: usize, size: usize) -> Self {
        let (rounds, operations) = (4, 100);
        let turns = total.div_ceil(size * rounds * operations);
        Self {
            turns,
            rounds,
            operations,
            blocks: 40,
        }
    }

    fn total(self, size: usize) -> usize {
        self.turns * self.rounds * self.operations * size
    }
}

/// Size of a run under a tool that slows everything down.
const SMALL: Load = Load {
    turns: 3,
    rounds: 2,
    operations: if cfg!(miri) { 8 } else { 30 },
    blocks: 6,
};

fn some_thousand_in_random_order(world: &Communicator, load: Load) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut memory = Memory::new(size, load.blocks);
    let mut window = Window::<i32>::allocate(world, load.blocks * BLOCK)?;
    for turn in 0..load.turns {
        // Who locks what is drawn, but each way has its turn.
        let draw = |round| hash(&[0x57ab, turn, round]);
        match turn % 3 {
            0 => {
                let mut fenced = window.fence()?;
                for round in 0..load.rounds {
                    let blocks = Blocks::draw(draw(round), size, load, false);
                    let mut mine = memory.round(&blocks, load.operations, rank, false);
                    fenced.step(|ops| mine.iter_mut().try_for_each(|op| op.begin(ops)))?;
                    let mut local = vec![0; load.blocks * BLOCK];
                    fenced.read(0, &mut local)?;
                    assert_eq!(local, memory.of(rank), "turn {turn}, round {round}");
                    Drawn::check(&mine);
                    fenced.fence()?;
                }
                window = fenced.close()?;
            }
            1 => {
                let passive = window.passive()?;
                let locked = passive.lock_all()?;
                for round in 0..load.rounds {
                    let at_once = round % 2 == 1;
                    let blocks = Blocks::draw(draw(round), size, load, false);
                    let mut mine = memory.round(&blocks, load.operations, rank, at_once);
                    if at_once {
                        mine.iter_mut().try_for_each(|op| op.make(&locked, false))?;
                    } else {
                        locked.scope(|ops| mine.iter_mut().try_for_each(|op| op.begin(ops)))?;
                    }
                    Drawn::check(&mine);
                    world.barrier()?;
                    let target = (rank + round) % size;
                    let mut there = vec![0; load.blocks * BLOCK];
                    locked.get(&mut there, target, 0)?;
                    assert_eq!(there, memory.of(target), "turn {turn}, round {round}");
                    world.barrier()?;
                }
                drop(locked);
                window = passive.close()?;
            }
            _ => {
                let passive = window.passive()?;
                for round in 0..load.rounds {
                    under_locks(world, &passive, &mut memory, load, draw(round))?;
                }
                window = passive.close()?;
            }
        }
        assert_eq!(window.local(), memory.of(rank), "turn {turn}");
    }
    window.free()?;
    Ok(())
}

/// A round in which each rank locks one target after the other.
fn under_locks(
    world: &Communicator,
    passive: &PassiveWindow<i32>,
    memory: &mut Memory,
    load: Load,
    draw: usize,
) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let blocks = Blocks::draw(draw, size, load, true);
    let mut mine = memory.round(&blocks, load.operations, rank, true);
    for turn in 0..size {
        let target = (rank + turn) % size;
        let exclusive = blocks.is_exclusive(target);
        // A few at a time.
        let of_target = |op: &&mut Drawn| op.target() == target;
        let mut here: Vec<&mut Drawn> = mine.iter_mut().filter(of_target).collect();
        for some in here.chunks_mut(5) {
            let kind = if exclusive { Exclusive } else { Shared };
            let locked = passive.lock(kind, target)?;
            some.iter_mut()
                .try_for_each(|op| op.make(&locked, exclusive))?;
            locked.unlock()?;
        }
    }
    Drawn::check(&mine);
    world.barrier()?;
    let mut own = passive.lock(Exclusive, rank)?;
    assert_eq!(own.local().unwrap(), memory.of(rank));
    own.unlock()?;
    world.barrier()
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn operations_leave_what_the_model_says(world: Communicator) -> Result<()> {
    let size = world.size();
    let load = match std::env::var("RANKS_TEST_OPERATIONS") {
        Ok(total) => Load::of(total.parse().unwrap(), size),
        Err(_) => Load::usual(size),
    };
    some_thousand_in_random_order(&world, load)
}

#[ranks_test::ranks(1, 2)]
fn some_operations_leave_what_the_model_says(world: Communicator) -> Result<()> {
    some_thousand_in_random_order(&world, SMALL)
}

/// In process there is nothing to wait for but a mutex.
#[test]
#[cfg_attr(miri, ignore = "it would take hours")]
fn a_hundred_thousand_operations_in_process() {
    let load = Load::of(100_000, 4);
    assert!(load.total(4) >= 100_000);
    Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(4)
        .run(|world| some_thousand_in_random_order(&world, load))
        .unwrap();
}
