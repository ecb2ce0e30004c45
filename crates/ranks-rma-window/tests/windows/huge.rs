//! More than 2³¹ bytes at once, on any MPI. They take gigabytes, so they run when asked for.

use ranks_collectives::Collectives;
use ranks_collectives::ops::Bxor;
use ranks_comm::{Buffer, Communicator, Result};
use ranks_rma_window::Window;

const HUGE: usize = (1 << 31) + 17;

#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 9 GB of memory"]
fn more_than_an_int_counts_is_put_and_got(world: Communicator) -> Result<()> {
    let here = usize::from(world.rank() == 1) * HUGE;
    let window = Window::<u8>::allocate(&world, here)?.passive()?;
    if world.rank() == 0 {
        let mut data = Buffer::<u8>::zeroed(HUGE);
        (data[0], data[HUGE / 2], data[HUGE - 1]) = (1, 2, 3);
        let locked = window.lock_all()?;
        locked.put(&data, 1, 0)?;
        data.fill(9);
        locked.get(&mut data, 1, 0)?;
        assert_eq!([data[0], data[1], data[HUGE / 2]], [1, 0, 2]);
        assert_eq!([data[HUGE - 2], data[HUGE - 1]], [0, 3]);
    }
    world.barrier()?;
    let window = window.close()?;
    if let [first, .., last] = window.local() {
        assert_eq!([*first, window.local()[HUGE / 2], *last], [1, 2, 3]);
    }
    window.free()?;
    Ok(())
}

/// Intel MPI has accumulated nothing, and MPICH ended the process in memory of the program's.
#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 9 GB of memory"]
fn more_than_an_int_counts_is_accumulated(world: Communicator) -> Result<()> {
    let here = usize::from(world.rank() == 1) * HUGE;
    let window = Window::from_vec(&world, vec![1u8; here])?.passive()?;
    if world.rank() == 0 {
        let mut data = Buffer::<u8>::zeroed(HUGE);
        (data[0], data[HUGE / 2], data[HUGE - 1]) = (1, 2, 3);
        window.lock_all()?.accumulate(&data, Bxor, 1, 0)?;
    }
    world.barrier()?;
    let window = window.close()?;
    if let [first, second, .., last] = window.local() {
        let middle = window.local()[HUGE / 2];
        assert_eq!([*first, *second, middle, *last], [0, 1, 3, 2]);
    }
    window.free()?;
    Ok(())
}
