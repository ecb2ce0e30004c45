use std::ops::AddAssign;

use ranks_collectives::ops::Sum;
use ranks_collectives::{Collectives, Integer};
use ranks_comm::{Communicator, Result};
use ranks_rma_window::{NoOp, Window};

/// A counter that all take numbers from loses none.
fn numbers_are_given_out_once<T: Integer + Ord + AddAssign>(
    world: &Communicator,
    one: T,
) -> Result<()> {
    const EACH: usize = 40;
    let zero = T::zeroed();
    let window = Window::<T>::allocate(world, 1)?.passive()?;
    let locked = window.lock_all()?;
    let mut mine = Vec::new();
    for turn in 0..EACH {
        mine.push(match turn % 2 {
            0 => locked.fetch_and_op(one, Sum, 0, 0)?,
            _ => loop {
                let seen = locked.fetch_and_op(zero, NoOp, 0, 0)?;
                let mut next = seen;
                next += one;
                if locked.compare_and_swap(seen, next, 0, 0)? == seen {
                    break seen;
                }
            },
        });
    }
    locked.unlock()?;
    let mut all = vec![zero; EACH * world.size()];
    world.allgather(&mine, &mut all)?;
    all.sort_unstable();
    let mut expected = zero;
    for number in all {
        assert!(number == expected);
        expected += one;
    }
    let window = window.close()?;
    if world.rank() == 0 {
        assert!(window.local() == [expected]);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn of_four_bytes(world: Communicator) -> Result<()> {
    numbers_are_given_out_once(&world, 1_u32)
}

#[ranks_test::ranks(1, 2, 3)]
fn of_eight_bytes(world: Communicator) -> Result<()> {
    numbers_are_given_out_once(&world, 1_i64)
}

#[ranks_test::ranks(1, 2)]
fn of_all_integers(world: Communicator) -> Result<()> {
    fn swap<T: Integer + PartialEq>(world: &Communicator, one: T) -> Result<()> {
        let right = (world.rank() + 1) % world.size();
        let zero = T::zeroed();
        let window = Window::<T>::allocate(world, 3)?.passive()?;
        {
            let locked = window.lock_all()?;
            assert!(locked.compare_and_swap(zero, one, right, 1)? == zero);
            assert!(locked.compare_and_swap(zero, zero, right, 1)? == one);
        }
        let window = window.close()?;
        assert!(window.local() == [zero, one, zero]);
        Ok(())
    }
    swap(&world, 1_u8)?;
    swap(&world, -1_i16)?;
    swap(&world, -1_i32)?;
    swap(&world, u32::MAX)
}

#[ranks_test::ranks(2, 3)]
fn between_fences(world: Communicator) -> Result<()> {
    let last = world.size() - 1;
    let mut fenced = Window::<i32>::allocate(&world, 2)?.fence()?;
    let mut old = 7;
    fenced.step(|ops| match world.rank() {
        0 => ops.compare_and_swap(&0, &5, &mut old, last, 1),
        _ => Ok(()),
    })?;
    let window = fenced.close()?;
    assert_eq!(old, if world.rank() == 0 { 0 } else { 7 });
    assert_eq!(window.local()[1], if world.rank() == last { 5 } else { 0 });
    Ok(())
}
