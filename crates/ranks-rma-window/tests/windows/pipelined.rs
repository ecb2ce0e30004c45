use ranks_collectives::Collectives;
use ranks_collectives::ops::Sum;
use ranks_comm::{Communicator, Result};
use ranks_rma_window::LockKind::Shared;
use ranks_rma_window::{NoOp, Window};

#[ranks_test::ranks(1, 2, 3, 4)]
fn what_a_scope_began_is_over_at_its_end(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let window = Window::<u64>::allocate(&world, 64 * size)?.passive()?;
    let mine: Vec<u64> = (0..64).map(|index| (1000 * rank + index) as u64).collect();
    let locked = window.lock_all()?;
    let answer = locked.scope(|ops| {
        for other in 0..size {
            for (index, value) in mine.chunks(1).enumerate() {
                ops.put(value, other, 64 * rank + index)?;
            }
        }
        Ok("done")
    })?;
    assert_eq!(answer, "done");
    world.barrier()?;
    let mut got = vec![0; 64 * size];
    locked.scope(|ops| {
        for (index, value) in got.chunks_mut(16).enumerate() {
            ops.get(value, (rank + 1) % size, 16 * index)?;
        }
        Ok(())
    })?;
    let expected =
        (0..size).flat_map(|from| (0..64).map(move |index| (1000 * from + index) as u64));
    assert!(got.into_iter().eq(expected));
    drop(locked);
    window.close()?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn a_scope_can_be_flushed_in_between(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let right = (rank + 1) % size;
    let window = Window::<i32>::allocate(&world, 4)?.passive()?;
    let locked = window.lock(Shared, right)?;
    let (one, mut before, mut after) = ([1, 2], [0; 2], 0);
    locked.scope(|ops| {
        ops.accumulate(&one, Sum, right, 0)?;
        ops.flush_local(right)?;
        ops.get_accumulate(&one, &mut before, Sum, right, 0)?;
        ops.flush(right)?;
        ops.fetch_and_op(&0, &mut after, NoOp, right, 1)?;
        ops.flush_local_all()?;
        ops.flush_all()
    })?;
    assert_eq!((before, after), ([1, 2], 4));
    let mut old = 0;
    locked.scope(|ops| ops.compare_and_swap(&2, &9, &mut old, right, 0))?;
    assert_eq!(old, 2);
    drop(locked);
    assert_eq!(window.close()?.local(), [9, 4, 0, 0]);
    Ok(())
}

/// Nothing is flushed where nothing was begun, and an error of the closure is that of the scope.
#[ranks_test::ranks(1, 2)]
fn scopes_may_be_empty_or_fail(world: Communicator) -> Result<()> {
    let window = Window::<i32>::allocate(&world, 4)?.passive()?;
    let locked = window.lock_all()?;
    locked.scope(|_| Ok(()))?;
    let failed = locked.scope(|ops| {
        ops.put(&[1, 2], 0, 0)?;
        ops.put(&[1], 0, 9)
    });
    assert!(failed.is_err());
    let mut got = [0; 2];
    locked.get(&mut got, 0, 0)?;
    assert_eq!(got, [1, 2]);
    Ok(())
}
