//! Old values, of so many elements that a library gets them in pieces.

use ranks_collectives::Number;
use ranks_collectives::ops::{Max, Sum};
use ranks_comm::{Communicator, Result};
use ranks_rma_window::LockKind::Exclusive;
use ranks_rma_window::{Change, NoOp, Window};

/// Pieces of 512 elements, and one that is short.
const LEN: usize = 6 * 512 + 31;

fn got<T, O>(world: &Communicator, all: impl Fn(u16) -> T, op: O) -> Result<()>
where
    T: Number + PartialEq + std::fmt::Debug + Send + Sync,
    O: Change<T>,
{
    let right = (world.rank() + 1) % world.size();
    let mine: Vec<T> = (0..LEN).map(|at| all(at as u16)).collect();
    for len in [512, 513, LEN] {
        let mut allocated = Window::allocate(world, LEN)?;
        allocated.local_mut().copy_from_slice(&mine);
        for window in [allocated, Window::from_vec(world, mine.clone())?] {
            let passive = window.passive()?;
            let locked = passive.lock(Exclusive, right)?;
            let mut old = vec![all(7); len];
            locked.get_accumulate(&mine[..len], &mut old, NoOp, right, 0)?;
            assert_eq!(old, mine[..len]);
            locked.get_accumulate(&mine[..len], &mut old, op, right, 0)?;
            assert_eq!(old, mine[..len]);
            let nothing = vec![all(7); len];
            let request = locked.rget_accumulate(old, nothing, NoOp, right, 0)?;
            let (_, changed) = request.wait()?;
            locked.unlock()?;
            // All windows have been changed alike.
            let window = passive.close()?;
            assert_eq!(changed, window.local()[..len]);
            window.free()?;
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn of_long_slices_all_that_was_there_is_got(world: Communicator) -> Result<()> {
    got(&world, i32::from, Sum)?;
    got(&world, i64::from, Max)?;
    got(&world, f64::from, Sum)
}
