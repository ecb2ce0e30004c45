//! Post, start, complete, wait and test.

use std::time::Duration;

use ranks_collectives::Collectives;
use ranks_collectives::ops::Sum;
use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_rma_window::Window;

/// The ranks before and behind this one.
fn neighbours(world: &Communicator) -> (usize, usize) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + size - 1) % size, (rank + 1) % size)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn values_go_round_a_ring(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut window = Window::<usize>::allocate(&world, 3)?;
    for round in 0..6 {
        window.local_mut().fill(0);
        let mut exposed = window.post(&[left])?;
        assert_eq!(exposed.origins(), [left]);
        let data = [world.rank(), round];
        exposed.start(&[right], |ops| ops.put(&data, right, 1))?;
        window = if round % 2 == 0 {
            exposed.wait()?
        } else {
            loop {
                match exposed.test()? {
                    Ok(window) => break window,
                    Err(again) => exposed = again,
                }
                std::thread::yield_now();
            }
        };
        assert_eq!(window.local(), [0, left, round]);
    }
    window.free().map(drop)
}

#[ranks_test::ranks(2, 3, 4)]
fn one_target_serves_all_others(world: Communicator) -> Result<()> {
    let others: Vec<usize> = (1..world.size()).collect();
    let mut window = Window::<i64>::allocate(&world, 2)?;
    for round in 1..4 {
        if world.rank() == 0 {
            window.local_mut()[0] = round;
            window = window.post(&others)?.wait()?;
            let sum: usize = others.iter().sum();
            assert_eq!(window.local(), [round, round * sum as i64]);
        } else {
            let mine = [world.rank() as i64];
            let mut seen = [0];
            window.start(&[0], |ops| {
                ops.get(&mut seen, 0, 0)?;
                ops.accumulate(&mine, Sum, 0, 1)
            })?;
            assert_eq!(seen, [round]);
        }
    }
    window.free().map(drop)
}

/// More groups of ranks than a window keeps, each twice.
#[ranks_test::ranks(2, 3, 4)]
fn origins_change_from_epoch_to_epoch(world: Communicator) -> Result<()> {
    let size = world.size();
    let mut window = Window::<u64>::allocate(&world, 1)?;
    let all: Vec<usize> = (0..size).collect();
    let mut times = 0;
    for origins in (0..2 * size * size).map(|turn| {
        let (first, last) = (turn % size, turn / size % size);
        (first..=first.max(last)).rev().collect::<Vec<_>>()
    }) {
        let mut exposed = window.post(&origins)?;
        if origins.contains(&world.rank()) {
            exposed.start(&all, |ops| {
                all.iter()
                    .try_for_each(|&rank| ops.accumulate(&[1], Sum, rank, 0))
            })?;
        }
        window = exposed.wait()?;
        times += origins.len() as u64;
        assert_eq!(window.local(), [times], "after {origins:?}");
    }
    window.free().map(drop)
}

#[ranks_test::ranks(2, 3)]
fn who_deals_with_nobody_goes_on(world: Communicator) -> Result<()> {
    let window = Window::<u8>::allocate(&world, 1)?;
    let mut exposed = window.post(&[])?;
    exposed.start(&[], |_| Ok(()))?;
    let mut window = exposed.wait()?;
    window.start(&[], |_| Ok(()))?;
    let Ok(window) = window.post(&[])?.test()? else {
        panic!("there is nobody to wait for");
    };
    window.free().map(drop)
}

#[ranks_test::ranks(2, 3)]
fn what_fails_in_an_epoch_ends_it(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let window = Window::<u32>::allocate(&world, 1)?;
    let mut exposed = window.post(&[left])?;
    let others = (0..world.size()).filter(|&rank| rank != right).count();
    assert_eq!(others, world.size() - 1);
    let seven = [7, 8];
    let beyond = exposed.start(&[right], |ops| {
        let elsewhere = ops.put(&seven[..1], world.rank(), 0).unwrap_err();
        assert_eq!(elsewhere.kind(), ErrorKind::Argument, "{elsewhere}");
        ops.put(&seven[..1], right, 0)?;
        ops.put(&seven, right, 0)
    });
    assert_eq!(beyond.unwrap_err().kind(), ErrorKind::Length);
    let window = exposed.wait()?;
    assert_eq!(window.local(), [7]);
    window.free().map(drop)
}

#[ranks_test::ranks(1, 2)]
fn bad_groups_are_refused(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let mut window = Window::<u8>::allocate(&world, 1)?;
    let mut kind = |targets: &[usize]| {
        let refused = window.start(targets, |_| Ok(()));
        refused.unwrap_err().kind()
    };
    assert_eq!(kind(&[size]), ErrorKind::Rank);
    assert_eq!(kind(&[me]), ErrorKind::Argument);
    if size > 1 {
        let other = (me + 1) % size;
        assert_eq!(kind(&[other, other]), ErrorKind::Argument);
    }
    assert_eq!(window.post(&[size]).unwrap_err().kind(), ErrorKind::Rank);
    let window = Window::<u8>::allocate(&world, 1)?;
    let twice = window.post(&[0, 0]).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Argument);
    world.barrier()
}

/// Some that nobody has started, some that are completed and were not waited for.
#[ranks_test::ranks(1, 2, 3)]
fn what_is_dropped_open_is_freed(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    for started in [false, true] {
        let window = Window::<u64>::allocate(&world, 1)?;
        let mut exposed = window.post(&[left])?;
        if started && world.rank() == 0 {
            let one = [1];
            exposed.start(&[right], |ops| ops.put(&one, right, 0))?;
        }
        drop(exposed);
        // The next thing that is made from the communicator frees it.
        world.dup()?.free()?;
    }
    // This one goes with the runtime.
    let last = Window::<u64>::from_vec(&world, vec![1])?;
    drop(last.post(&[left])?);
    Ok(())
}

#[ranks_test::ranks(3, 4)]
fn an_epoch_starts_when_its_targets_have_posted_and_not_others(world: Communicator) -> Result<()> {
    let (rank, last) = (world.rank(), world.size() - 1);
    let mut window = Window::<u64>::allocate(&world, 1)?;
    for round in 0..20 {
        let value = [round];
        match rank {
            0 => {
                // All have posted but the one that is started with first.
                for target in 2..=last {
                    world.recv(&mut [0_u8], target, 0)?;
                }
                world.send(&[0_u8], 1, 0)?;
                window.start(&[1], |ops| ops.put(&value, 1, 0))?;
                let others: Vec<usize> = (2..=last).rev().collect();
                window.start(&others, |ops| {
                    others
                        .iter()
                        .try_for_each(|&other| ops.put(&value, other, 0))
                })?;
            }
            1 => {
                let quiet = round.wrapping_sub(1);
                window.local_mut()[0] = quiet;
                world.recv(&mut [0_u8], 0, 0)?;
                std::thread::sleep(Duration::from_millis(5));
                assert_eq!(window.local(), [quiet], "nothing was posted");
                window = window.post(&[0])?.wait()?;
                assert_eq!(window.local(), value);
            }
            _ => {
                let exposed = window.post(&[0])?;
                world.send(&[0_u8], 0, 0)?;
                window = exposed.wait()?;
                assert_eq!(window.local(), value);
            }
        }
    }
    window.free()?;
    Ok(())
}
