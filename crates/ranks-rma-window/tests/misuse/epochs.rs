//! Epochs that are missing, misplaced, or within each other.

use ranks_collectives::ops::Sum;
use ranks_comm::ErrorKind::{Argument, Mismatch};
use ranks_comm::{Communicator, Result};
use ranks_rma_window::LockKind::{Exclusive, Shared};
use ranks_rma_window::Window;

use crate::refused;

/// MissingCall-MPIWinFence-1: the fence that opens the epoch is missing on a rank, which opens
/// another one.
#[ranks_test::ranks(2)]
fn a_rank_that_opens_another_epoch_is_named(world: Communicator) -> Result<()> {
    let window = Window::<u32>::allocate(&world, 2)?;
    let opened = if world.rank() == 1 {
        window.passive().map(drop)
    } else {
        window.fence().map(drop)
    };
    refused(
        opened,
        Mismatch,
        &["rank 1", "MPI_Win_fence", "Window::passive"],
    );
    Window::<u32>::allocate(&world, 2)?.free()?;
    Ok(())
}

/// MissingCall-MPIWinFence-2, MisplacedCall-MPIWinFence-1: a rank closes the epoch while others are
/// at another step.
#[ranks_test::ranks(2)]
fn a_rank_that_closes_the_epoch_too_early_is_named(world: Communicator) -> Result<()> {
    let mut fenced = Window::<u32>::allocate(&world, 2)?.fence()?;
    let (one, mut called) = ([1], false);
    let outcome = if world.rank() == 1 {
        fenced.close().map(drop)
    } else {
        fenced.step(|ops| {
            called = true;
            ops.put(&one, 0, 0)
        })
    };
    refused(outcome, Mismatch, &["rank 1", "MPI_MODE_NOSUCCEED"]);
    assert!(!called, "nothing was begun");
    Window::<u32>::allocate(&world, 2)?.free()?;
    Ok(())
}

/// MissingCall-MPIWinFence-3, MisplacedCall-MPIWinFence-2: a rank frees the window while others
/// open it.
#[ranks_test::ranks(2)]
fn a_rank_that_frees_the_window_too_early_is_named(world: Communicator) -> Result<()> {
    let window = Window::<u32>::allocate(&world, 2)?;
    let outcome = if world.rank() == 0 {
        window.free().map(drop)
    } else {
        window.fence().map(drop)
    };
    refused(outcome, Mismatch, &["MPI_Win_free", "MPI_Win_fence"]);
    Window::<u32>::allocate(&world, 2)?.free()?;
    Ok(())
}

/// MisplacedCall-MPIWinLock: a lock within a lock.
#[ranks_test::ranks(1, 2)]
fn locks_are_not_nested(world: Communicator) -> Result<()> {
    let target = (world.rank() + 1) % world.size();
    let passive = Window::<u64>::allocate(&world, 2)?.passive()?;
    let locked = passive.lock(Shared, target)?;
    let held = format!("holds a lock of rank {target}");
    let again = format!("rank {target} cannot be locked");
    let parts = ["MPI_Win_lock: ", &again, &held, "unlock it first"];
    refused(passive.lock(Shared, target), Argument, &parts);
    refused(passive.lock(Exclusive, target), Argument, &parts);
    refused(
        passive.lock_all(),
        Argument,
        &["MPI_Win_lock_all: ", "unlock it first"],
    );
    // The one that is there goes on.
    locked.accumulate(&[1], Sum, target, 0)?;
    locked.unlock()?;
    let all = passive.lock_all()?;
    refused(
        passive.lock_all(),
        Argument,
        &["all ranks cannot be locked", "of all ranks"],
    );
    refused(
        passive.lock(Shared, target),
        Argument,
        &[&again, "of all ranks"],
    );
    all.accumulate(&[1], Sum, target, 0)?;
    drop(all);
    assert_eq!(passive.close()?.local(), [2, 0]);
    Ok(())
}

/// F: a fence that did not end its epoch made the lock that followed erroneous. Here it has ended
/// before there can be a lock.
#[ranks_test::ranks(1, 2)]
fn f_locks_follow_fences(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let right = (rank + 1) % size;
    let mut window = Window::<u64>::allocate(&world, 2)?;
    for round in 1..=3 {
        let mut fenced = window.fence()?;
        let one = [round];
        fenced.step(|ops| ops.put(&one, right, 0))?;
        let passive = fenced.close()?.passive()?;
        let locked = passive.lock(Exclusive, right)?;
        assert_eq!(locked.fetch_and_op(1, Sum, right, 0)?, round);
        locked.unlock()?;
        window = passive.close()?;
        assert_eq!(window.local(), [round + 1, 0]);
    }
    Ok(())
}
