//! Operations under a lock that own their memory.

use std::sync::Arc;

use ranks_collectives::Collectives;
use ranks_collectives::ops::Sum;
use ranks_comm::{Buffer, Communicator, ErrorKind, Result};
use ranks_rma_window::{LockKind, NoOp, Window};

#[ranks_test::ranks(1, 2, 3, 4)]
fn what_was_put_is_got(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let window = Window::<u64>::allocate(&world, 40)?.passive()?;
    let right = (rank + 1) % size;
    let locked = window.lock(LockKind::Exclusive, right)?;
    let block = |number: u64| -> Vec<u64> { (0..10).map(|at| 100 * number + at).collect() };
    let puts: Result<Vec<_>> = (0..4u64)
        .map(|number| locked.rput(block(number), right, 10 * number as usize))
        .collect();
    for (number, mut put) in (0..).zip(puts?) {
        while !put.test()? {
            std::thread::yield_now();
        }
        assert_eq!(put.wait()?, block(number));
    }
    locked.flush(right)?;
    let first = locked.rget(vec![0; 25], right, 5)?;
    let second = locked.rget(Buffer::zeroed(10), right, 30)?;
    assert_eq!(second.wait()?, block(3)[..]);
    let first = first.wait()?;
    assert_eq!((first[0], first[5], first[24]), (5, 100, 209));
    assert_eq!(locked.rget(vec![], right, 40)?.wait()?, [0u64; 0]);
    locked.unlock()?;
    window.close()?.free().map(drop)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn all_add_to_one_rank(world: Communicator) -> Result<()> {
    let size = world.size();
    let window = Window::<i32>::allocate(&world, 2 * usize::from(world.rank() == 0))?.passive()?;
    let locked = window.lock_all()?;
    let ones: Arc<[i32]> = Arc::new([1, 2]);
    let added = locked.raccumulate(Arc::clone(&ones), Sum, 0, 0)?;
    let ((_, old), outcome) = locked
        .rget_accumulate(vec![10], vec![0], Sum, 0, 1)?
        .complete()?;
    outcome?;
    assert!((0..12 * size as i32).contains(&old[0]), "{old:?}");
    assert_eq!(*added.wait()?, [1, 2]);
    locked.flush(0)?;
    world.barrier()?;
    let sum = locked.rget_accumulate(vec![0, 0], vec![0, 0], NoOp, 0, 0)?;
    assert_eq!(sum.wait()?.1, [size as i32, 12 * size as i32]);
    locked.unlock()?;
    window.close()?.free().map(drop)
}

#[ranks_test::ranks(1, 2)]
fn what_is_not_there_is_refused(world: Communicator) -> Result<()> {
    let window = Window::<f64>::allocate(&world, 4)?.passive()?;
    let locked = window.lock(LockKind::Shared, 0)?;
    let refused = locked.rput(vec![0.0; 3], 0, 2).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Length);
    assert_eq!(refused.operation(), "MPI_Rput");
    let refused = locked.rget(vec![0.0; 3], world.size(), 0).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Rank);
    let refused = locked.rget_accumulate(vec![0.0; 2], vec![0.0; 3], Sum, 0, 0);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Length);
    if world.size() > 1 {
        let refused = locked.raccumulate(vec![0.0; 2], Sum, 1, 0);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Argument);
    }
    locked.unlock()?;
    window.close()?.free().map(drop)
}

#[ranks_test::ranks(1, 2, 3)]
fn a_request_that_is_dropped_goes_on(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let right = (rank + 1) % size;
    let window = Window::<usize>::allocate(&world, 100)?.passive()?;
    let locked = window.lock(LockKind::Shared, right)?;
    drop(locked.rput(vec![rank + 1; 100], right, 0)?);
    drop(locked.rget(vec![0; 100], right, 0)?);
    locked.unlock()?;
    let window = window.close()?;
    assert_eq!(window.local(), [(rank + size - 1) % size + 1; 100]);
    window.free().map(drop)
}
