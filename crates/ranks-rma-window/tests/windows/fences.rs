use ranks_collectives::ops::{Max, Sum};
use ranks_comm::{Communicator, Result};
use ranks_rma_window::{NoOp, Replace, Window};

#[ranks_test::ranks(1, 2, 3, 4)]
fn values_come_round_a_ring(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let right = (rank + 1) % size;
    let mut window = Window::<u64>::allocate(&world, 3)?;
    window.local_mut()[1] = rank as u64;
    let mut fenced = window.fence()?;
    for step in 1..=5 {
        let mine = [fenced.value(1)?];
        fenced.fence()?;
        fenced.step(|ops| ops.put(&mine, right, 1))?;
        let came = (rank + step * (size - 1)) % size;
        assert_eq!(fenced.value(1)?, came as u64);
        fenced.fence()?;
    }
    let mut all = [7; 3];
    fenced.read(0, &mut all)?;
    assert_eq!((all[0], all[2]), (0, 0), "beside what was put");
    fenced.close()?.free()?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn everyone_reads_from_everyone(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut window = Window::<i32>::allocate(&world, 100)?;
    for (index, value) in window.local_mut().iter_mut().enumerate() {
        *value = (1000 * rank + index) as i32;
    }
    let mut fenced = window.fence()?;
    let mut got = vec![[-1; 12]; size];
    let answer = fenced.step(|ops| {
        for (other, got) in got.iter_mut().enumerate() {
            ops.get(&mut got[1..11], other, 90)?;
        }
        Ok(42)
    })?;
    assert_eq!(answer, 42);
    for (other, got) in got.iter().enumerate() {
        assert_eq!((got[0], got[11]), (-1, -1), "beside what was read");
        let there = (90..100).map(|index| (1000 * other + index) as i32);
        assert!(got[1..11].iter().copied().eq(there));
    }
    // Quiet, and open again.
    let mut window = fenced.close()?;
    window.local_mut()[0] = -5;
    let mut fenced = window.fence()?;
    let mut one = [0];
    fenced.step(|ops| ops.get(&mut one, (rank + 1) % size, 0))?;
    assert_eq!(one, [-5]);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn all_accumulate_to_one(world: Communicator) -> Result<()> {
    let size = i64::try_from(world.size()).unwrap();
    let window = Window::<i64>::allocate(&world, 4)?;
    let mut fenced = window.fence()?;
    let data = [1, 10, 100];
    fenced.step(|ops| {
        ops.accumulate(&data, Sum, 0, 1)?;
        ops.accumulate(&data[..2], Sum, 0, 2)
    })?;
    if world.rank() == 0 {
        let mut sums = [0; 4];
        fenced.read(0, &mut sums)?;
        assert_eq!(sums, [0, size, 11 * size, 110 * size]);
    }
    let (mut old, mut olds) = (0, [0; 2]);
    let mine = i64::try_from(world.rank()).unwrap() + 1;
    let last = world.size() - 1;
    fenced.step(|ops| {
        ops.fetch_and_op(&mine, &mut old, Max, last, 3)?;
        ops.get_accumulate(&[0, 0], &mut olds, NoOp, 0, 0)
    })?;
    assert!(old != mine && old <= size + 110 * size);
    if last > 0 {
        assert_eq!(olds, [0, size]);
        let mut highest = [0];
        fenced.step(|ops| ops.get(&mut highest, last, 3))?;
        assert_eq!(highest, [size]);
    }
    fenced.step(|ops| match world.rank() {
        0 => ops.accumulate(&data, Replace, last, 1),
        _ => Ok(()),
    })?;
    let window = fenced.close()?;
    if world.rank() == last {
        assert_eq!(window.local(), [0, 1, 10, 100]);
    }
    window.free()?;
    Ok(())
}

/// Values that the owner writes while the epoch is open are there for the others after the step.
#[ranks_test::ranks(2, 3)]
fn the_owner_writes_too(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut fenced = Window::<f32>::allocate(&world, 10)?.fence()?;
    for step in 0..4 {
        fenced.write(3, &[rank as f32, step as f32])?;
        fenced.fence()?;
        let mut got = [0.0; 3];
        fenced.step(|ops| ops.get(&mut got, (rank + 1) % size, 3))?;
        assert_eq!(got, [((rank + 1) % size) as f32, step as f32, 0.0]);
    }
    fenced.close()?;
    Ok(())
}
