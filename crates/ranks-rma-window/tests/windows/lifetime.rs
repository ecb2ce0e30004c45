//! Ends of windows: freed, dropped in whatever state, left by panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ranks_collectives::Collectives;
use ranks_collectives::ops::Sum;
use ranks_comm::{Communicator, Result};
use ranks_rma_window::LockKind::{Exclusive, Shared};
use ranks_rma_window::{Fenced, Window};

/// Libraries have room for so many windows at a time only (MPICH for some 700); those that were
/// dropped are freed when others are made.
#[ranks_test::ranks(1, timeout = 300)]
fn a_thousand_dropped_windows(world: Communicator) -> Result<()> {
    (0..1000).try_for_each(|_| Window::<u64>::allocate(&world, 3).map(drop))
}

#[ranks_test::ranks(1, 2)]
fn windows_are_dropped_in_every_state(world: Communicator) -> Result<()> {
    for round in 0..2 {
        drop(Window::<u64>::allocate(&world, 3)?.fence()?);
        let window = Window::<u64>::allocate(&world, round)?.passive()?;
        // The lock goes with the window.
        std::mem::forget(window.lock(Shared, world.rank())?);
        drop(window);
        drop(Window::from_vec(&world, vec![round; 2])?.fence()?.close()?);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn a_window_outlives_its_communicator(world: Communicator) -> Result<()> {
    let right = (world.rank() + 1) % world.size();
    let own = world.dup()?;
    let window = Window::<u64>::allocate(&own, 1)?;
    let other = Window::<u64>::allocate(&own, 1)?;
    drop(own);
    let mut fenced = window.fence()?;
    fenced.step(|ops| ops.put(&[5], right, 0))?;
    drop(other);
    assert_eq!(fenced.close()?.local(), [5]);
    world.dup()?.barrier()
}

/// Each thread has a communicator, and drops a window of it, which is freed at the end of the job.
/// Ranks made these windows in different orders.
#[ranks_test::ranks(2, 3)]
fn ranks_whose_threads_dropped_windows_hung_at_the_end(world: Communicator) -> Result<()> {
    let comms = (0..16)
        .map(|_| world.dup())
        .collect::<Result<Vec<Communicator>>>()?;
    std::thread::scope(|threads| {
        let threads: Vec<_> = comms
            .iter()
            .map(|comm| threads.spawn(|| Window::<u64>::allocate(comm, 1).map(drop)))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap())
    })
}

/// A struct with everything, dropped in the order of its fields.
#[ranks_test::ranks(1, 2)]
fn windows_live_in_structs(world: Communicator) -> Result<()> {
    struct Model {
        world: Communicator,
        fenced: Option<Fenced<f64>>,
        table: Option<Window<u8>>,
    }
    let mut model = Model {
        fenced: Some(Window::allocate(&world, 1)?.fence()?),
        table: Some(Window::from_vec(&world, vec![1])?),
        world,
    };
    // Not in the same order everywhere.
    match model.world.rank() {
        0 => drop(model.table.take()),
        _ => drop(model.fenced.take()),
    }
    drop(model);
    Ok(())
}

/// Locks whose guards were forgotten do not keep others waiting when the time of locks ends.
#[ranks_test::ranks(1, 2)]
fn forgotten_locks_end_with_the_time_of_locks(world: Communicator) -> Result<()> {
    let window = Window::<u64>::allocate(&world, 1)?.passive()?;
    std::mem::forget(window.lock_all()?);
    let window = window.close()?.passive()?;
    std::mem::forget(window.lock(Exclusive, world.rank())?);
    let window = window.close()?.passive()?;
    window.lock(Exclusive, 0)?.accumulate(&[1], Sum, 0, 0)?;
    let window = window.close()?;
    if world.rank() == 0 {
        assert_eq!(window.local(), [world.size() as u64]);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn a_panic_ends_its_step_and_goes_on(world: Communicator) -> Result<()> {
    let right = (world.rank() + 1) % world.size();
    let mut fenced = Window::<u64>::allocate(&world, 2)?.fence()?;
    let mine = [world.rank() as u64 + 1];
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        fenced.step(|ops| {
            ops.put(&mine, right, 0)?;
            if world.rank() == 0 {
                std::panic::resume_unwind(Box::new("enough"));
            }
            ops.put(&mine, right, 1)
        })
    }));
    assert_eq!(outcome.is_err(), world.rank() == 0);
    let left = (world.rank() + world.size() - 1) % world.size();
    let second = if left == 0 { 0 } else { left as u64 + 1 };
    assert_eq!(fenced.close()?.local(), [left as u64 + 1, second]);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn a_panic_under_a_lock_completes_and_unlocks(world: Communicator) -> Result<()> {
    let window = Window::<u64>::allocate(&world, 1)?.passive()?;
    let one = [1];
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let locked = window.lock(Exclusive, 0)?;
        locked.scope(|ops| {
            ops.accumulate(&one, Sum, 0, 0)?;
            std::panic::resume_unwind(Box::new("enough"))
        })
    }));
    let outcome: std::thread::Result<Result<()>> = outcome;
    assert!(outcome.is_err());
    let window = window.close()?;
    if world.rank() == 0 {
        assert_eq!(window.local(), [world.size() as u64]);
    }
    Ok(())
}

/// An error of a closure ends the step with what was begun.
#[ranks_test::ranks(1, 2)]
fn an_error_ends_the_step(world: Communicator) -> Result<()> {
    let right = (world.rank() + 1) % world.size();
    let mut fenced = Window::<u64>::allocate(&world, 2)?.fence()?;
    let failed = fenced.step(|ops| {
        ops.put(&[3], right, 0)?;
        ops.put(&[3], right, 2)
    });
    assert!(failed.is_err());
    assert_eq!(fenced.close()?.local(), [3, 0]);
    Ok(())
}
