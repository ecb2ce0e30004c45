//! Things that ranks share by atomic operations alone, on the memory of one rank or of all: nothing
//! is lost, nothing comes twice.
//!
//! Of 4 bytes each, since not every library swaps more.

use ranks_collectives::Collectives;
use ranks_collectives::ops::Sum;
use ranks_comm::{Communicator, Result};
use ranks_rma_window::{Locked, NoOp, Replace, Window};

/// Number of times that each rank takes something.
fn turns(world: &Communicator) -> usize {
    match world.size() {
        _ if cfg!(miri) => 4,
        1 | 2 => 200,
        _ => 30,
    }
}

/// All that the ranks have, in order.
fn together(world: &Communicator, mine: &[u32]) -> Result<Vec<u32>> {
    let mut all = vec![0; mine.len() * world.size()];
    world.allgather(mine, &mut all)?;
    all.sort_unstable();
    Ok(all)
}

fn look(locked: &Locked<'_, u32>, rank: usize, at: usize) -> Result<u32> {
    locked.fetch_and_op(0, NoOp, rank, at)
}

/// A counter on the last rank, which is counted up in two ways.
#[ranks_test::ranks(1, 2, 3, 4)]
fn a_counter_gives_each_number_to_one(world: Communicator) -> Result<()> {
    let home = world.size() - 1;
    let window = Window::<u32>::allocate(&world, 1)?.passive()?;
    let locked = window.lock_all()?;
    let mut mine = Vec::new();
    for turn in 0..turns(&world) {
        if turn % 3 > 0 {
            mine.push(locked.fetch_and_op(1, Sum, home, 0)?);
            continue;
        }
        let mut seen = look(&locked, home, 0)?;
        loop {
            match locked.compare_and_swap(seen, seen + 1, home, 0)? {
                was if was == seen => break,
                was => seen = was,
            }
        }
        mine.push(seen);
    }
    assert!(mine.is_sorted(), "a counter goes up");
    locked.unlock()?;
    let all = together(&world, &mine)?;
    assert!(all.iter().copied().eq(0..all.len() as u32));
    let window = window.close()?;
    let there: &[u32] = if world.rank() == home {
        window.local()
    } else {
        &[all.len() as u32]
    };
    assert_eq!(there, [all.len() as u32]);
    window.free()?;
    Ok(())
}

/// A queue of bounded length in the memory of rank 0: each who comes draws a number for a place,
/// and waits for its turn there.
struct Queue<'a, 'w> {
    locked: &'a Locked<'w, u32>,
    places: u32,
}

impl Queue<'_, '_> {
    const HOME: usize = 0;
    /// The next number of those who put in, and of those who take out.
    const IN: usize = 0;
    const OUT: usize = 1;

    fn elements(places: usize) -> usize {
        2 + 2 * places
    }

    /// Positions of the turn and the value of a place.
    fn place(&self, number: u32) -> (usize, usize) {
        let place = (number % self.places) as usize;
        (2 + 2 * place, 3 + 2 * place)
    }

    /// Makes every place ready for who comes first. Of one rank, before others come.
    fn set_up(&self) -> Result<()> {
        (0..self.places)
            .try_for_each(|number| self.locked.put(&[number], Self::HOME, self.place(number).0))
    }

    fn wait(&self, turn: usize, number: u32) -> Result<()> {
        while look(self.locked, Self::HOME, turn)? != number {
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Hands the place on to who has the number `next` there.
    fn hand_on(&self, turn: usize, number: u32, next: u32) -> Result<()> {
        let was = self
            .locked
            .compare_and_swap(number, next, Self::HOME, turn)?;
        assert_eq!(was, number, "two at one place");
        Ok(())
    }

    fn put_in(&self, value: u32) -> Result<()> {
        let number = self.locked.fetch_and_op(1, Sum, Self::HOME, Self::IN)?;
        let (turn, at) = self.place(number);
        self.wait(turn, number)?;
        self.locked.fetch_and_op(value, Replace, Self::HOME, at)?;
        self.hand_on(turn, number, number + 1)
    }

    fn take_out(&self) -> Result<u32> {
        let number = self.locked.fetch_and_op(1, Sum, Self::HOME, Self::OUT)?;
        let (turn, at) = self.place(number);
        self.wait(turn, number + 1)?;
        let value = look(self.locked, Self::HOME, at)?;
        self.hand_on(turn, number + 1, number + self.places)?;
        Ok(value)
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_queue_loses_nothing(world: Communicator) -> Result<()> {
    let places = world.size() + 1;
    let elements = if world.rank() == Queue::HOME {
        Queue::elements(places)
    } else {
        0
    };
    let window = Window::<u32>::allocate(&world, elements)?.passive()?;
    let locked = window.lock_all()?;
    let queue = Queue {
        locked: &locked,
        places: places as u32,
    };
    if world.rank() == Queue::HOME {
        queue.set_up()?;
    }
    world.barrier()?;
    let (mut taken, turns) = (Vec::new(), turns(&world) as u32);
    for turn in 0..turns {
        queue.put_in(world.rank() as u32 * turns + turn)?;
        taken.push(queue.take_out()?);
    }
    locked.unlock()?;
    window.close()?;
    // Values of one rank came out in the order in which it put them in, for each who takes.
    for rank in 0..world.size() as u32 {
        let of_rank = taken.iter().filter(|value| *value / turns == rank);
        assert!(of_rank.is_sorted());
    }
    let all = together(&world, &taken)?;
    assert!(all.iter().copied().eq(0..all.len() as u32));
    Ok(())
}

/// A stack whose items lie in the memory of those who push them: each has the number of the one
/// below, or 0.
#[ranks_test::ranks(1, 2, 3, 4)]
fn a_stack_loses_nothing(world: Communicator) -> Result<()> {
    const TOP: (usize, usize) = (0, 0);
    let (rank, turns) = (world.rank(), turns(&world));
    let window = Window::<u32>::allocate(&world, 1 + turns)?.passive()?;
    let locked = window.lock_all()?;
    let number = |rank: usize, index: usize| (1 + rank * turns + index) as u32;
    let place = |number: u32| {
        let item = number as usize - 1;
        (item / turns, 1 + item % turns)
    };
    let push = |item: u32| -> Result<()> {
        let (owner, at) = place(item);
        let mut top = look(&locked, TOP.0, TOP.1)?;
        loop {
            locked.fetch_and_op(top, Replace, owner, at)?;
            match locked.compare_and_swap(top, item, TOP.0, TOP.1)? {
                was if was == top => return Ok(()),
                was => top = was,
            }
        }
    };
    let pop = || -> Result<Option<u32>> {
        let mut top = look(&locked, TOP.0, TOP.1)?;
        while top != 0 {
            let (owner, at) = place(top);
            // No item is pushed twice, so that the one below is the one below as long as this is
            // the top.
            let below = look(&locked, owner, at)?;
            match locked.compare_and_swap(top, below, TOP.0, TOP.1)? {
                was if was == top => return Ok(Some(top)),
                was => top = was,
            }
        }
        Ok(None)
    };
    let mut popped = Vec::new();
    for index in 0..turns {
        push(number(rank, index))?;
        if index % 2 == 1 {
            popped.extend(pop()?);
        }
    }
    // Each rank has pushed before it pops, so that nobody finds the stack empty before; now until
    // it is.
    world.barrier()?;
    while let Some(item) = pop()? {
        popped.push(item);
    }
    locked.unlock()?;
    window.close()?;
    popped.resize(turns * world.size(), 0);
    let mut all = together(&world, &popped)?;
    all.retain(|item| *item != 0);
    assert!(all.iter().copied().eq(1..=(turns * world.size()) as u32));
    Ok(())
}
