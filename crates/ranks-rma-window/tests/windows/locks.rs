use std::time::Duration;

use ranks_collectives::Collectives;
use ranks_collectives::ops::{Bxor, Min, Prod, Sum};
use ranks_comm::{Backend, Communicator, Error, Result, Runtime};
use ranks_rma_window::LockKind::{Exclusive, Shared};
use ranks_rma_window::{NoOp, Replace, Window};

#[ranks_test::ranks(1, 2, 3, 4)]
fn each_operation_is_over_when_it_returns(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let right = (rank + 1) % size;
    let window = Window::<i64>::allocate(&world, 10)?.passive()?;
    {
        let locked = window.lock(Exclusive, right)?;
        locked.put(&[5, 6, 7], right, 4)?;
        let mut got = [-1; 5];
        locked.get(&mut got[..4], right, 3)?;
        assert_eq!(got, [0, 5, 6, 7, -1]);
        locked.accumulate(&[10, 10], Sum, right, 4)?;
        let mut old = [0; 2];
        locked.get_accumulate(&[2, 3], &mut old, Prod, right, 5)?;
        assert_eq!(old, [16, 7]);
        locked.accumulate(&[-3], Min, right, 9)?;
        assert_eq!(locked.fetch_and_op(1, Bxor, right, 9)?, -3);
        assert_eq!(locked.fetch_and_op(0, NoOp, right, 9)?, -3 ^ 1);
        assert_eq!(locked.fetch_and_op(8, Replace, right, 9)?, -3 ^ 1);
        locked.flush(right)?;
        locked.flush_local(right)?;
        locked.flush_all()?;
        locked.flush_local_all()?;
        locked.sync()?;
        locked.unlock()?;
    }
    let window = window.close()?;
    assert_eq!(window.local(), [0, 0, 0, 0, 15, 32, 21, 0, 0, 8]);
    window.free()?;
    Ok(())
}

/// Elements that are read and then written under an exclusive lock are not changed by others in
/// between.
#[ranks_test::ranks(1, 2, 3, 4)]
fn an_exclusive_lock_excludes(world: Communicator) -> Result<()> {
    const EACH: usize = 20;
    let last = world.size() - 1;
    let window = Window::<u32>::allocate(&world, 2)?.passive()?;
    for _ in 0..EACH {
        let locked = window.lock(Exclusive, last)?;
        let mut value = [0; 2];
        locked.get(&mut value, last, 0)?;
        assert_eq!(value[0], value[1]);
        value[0] += 1;
        locked.put(&value[..1], last, 0)?;
        value[1] += 1;
        locked.put(&value[1..], last, 1)?;
        locked.unlock()?;
    }
    let window = window.close()?;
    if world.rank() == last {
        assert_eq!(window.local(), [(EACH * world.size()) as u32; 2]);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn the_owner_has_a_slice_under_an_exclusive_lock_on_itself(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let window = Window::<u16>::allocate(&world, 2)?.passive()?;
    let mut locked = window.lock(Exclusive, rank)?;
    locked.local_mut().unwrap()[1] += 1;
    assert_eq!(locked.local().unwrap()[1] % 2, 1);
    locked.unlock()?;
    world.barrier()?;
    let right = (rank + 1) % size;
    let mut locked = window.lock(Shared, right)?;
    assert!(locked.local().is_none());
    let mut got = [0; 2];
    locked.get(&mut got, right, 0)?;
    assert_eq!(got, [0, 1]);
    drop(locked);
    let mut locked = window.lock(Shared, rank)?;
    assert!(locked.local_mut().is_none());
    drop(locked);
    assert!(window.lock_all()?.local().is_none());
    window.close()?;
    Ok(())
}

/// Fences and locks take turns on one window.
#[ranks_test::ranks(1, 2)]
fn epochs_of_both_kinds_follow_each_other(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let right = (rank + 1) % size;
    let left = (rank + size - 1) % size;
    let mut window = Window::<u64>::allocate(&world, 2)?;
    for round in 1..4_u64 {
        window.local_mut()[1] = 0;
        let mut fenced = window.fence()?;
        let mine = [round * 100 + rank as u64];
        fenced.step(|ops| ops.put(&mine, right, 0))?;
        window = fenced.close()?;
        assert_eq!(window.local(), [round * 100 + left as u64, 0]);
        let passive = window.passive()?;
        passive.lock_all()?.accumulate(&[round], Sum, right, 1)?;
        let locked = passive.lock(Shared, left)?;
        locked.accumulate(&[round], Sum, left, 1)?;
        drop(locked);
        window = passive.close()?;
        assert_eq!(window.local()[1], 2 * round);
    }
    window.free()?;
    Ok(())
}

/// Operations started by a request on this rank itself were not completed before the slice was
/// lent.
#[ranks_test::ranks(1, 2)]
fn what_this_rank_puts_to_itself_arrives_while_its_slice_is_lent(
    world: Communicator,
) -> Result<()> {
    const LEN: usize = if cfg!(miri) { 200 } else { 200_000 };
    let me = world.rank();
    let passive = Window::<u32>::allocate(&world, LEN)?.passive()?;
    for round in 1..20 {
        let mut locked = passive.lock(Exclusive, me)?;
        drop(locked.rput(vec![round; LEN], me, 0)?);
        let local = locked.local_mut().unwrap_or_default();
        assert!(local.len() == LEN && local.iter().all(|&is| is == round));
        local.fill(0);
        locked.unlock()?;
        let mut locked = passive.lock(Exclusive, me)?;
        assert_eq!(
            locked.local().map(|local| local.iter().all(|&is| is == 0)),
            Some(true)
        );
    }
    passive.close()?.free().map(drop)
}

/// In process, where the wait for a lock can be left.
#[test]
fn the_error_of_a_lock_that_timed_out_names_the_window_and_the_target() {
    fn waits(world: &Communicator, name: &str) -> Result<String> {
        let window = Window::<u64>::allocate(world, 1)?;
        window.set_name(name)?;
        let window = window.passive()?;
        if world.rank() == 1 {
            let locked = window.lock(Exclusive, 1)?;
            world.barrier()?;
            world.barrier()?;
            locked.unlock()?;
            window.close()?.free()?;
            return Ok(String::new());
        }
        world.barrier()?;
        let limit = Duration::from_millis(50);
        let late = world.within(limit, |_| {
            Ok::<_, Error>(window.lock(Exclusive, 1).map(drop))
        })?;
        world.barrier()?;
        window.close()?.free()?;
        Ok(late.expect_err("it is locked").to_string())
    }
    let runtime = Runtime::builder().backend(Backend::InProcess).ranks(2);
    let outcome = runtime.run(|world| {
        for (name, named) in [("", "a window without a name"), ("halo", "halo")] {
            let text = waits(&world, name)?;
            let expected = format!(" of {named}; its target is rank 1;");
            assert!(world.rank() == 1 || text.contains(&expected), "{text}");
        }
        Ok::<(), Error>(())
    });
    assert!(outcome.is_ok(), "{outcome:?}");
}
