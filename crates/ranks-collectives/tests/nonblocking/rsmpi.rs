//! What the example programs of rsmpi assert of collectives that return at once.

use ranks_collectives::NonblockingCollectives;
use ranks_collectives::ops::{Max, Prod, Sum, UserOp};
use ranks_comm::{Communicator, Result, Source};

use crate::numbers::{multiples, multiplication_table, powers_of_two, staircase};
use crate::{received, still_works};

#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_immediate_barrier(world: Communicator) -> Result<()> {
    if world.rank() > 0 {
        world.send(&[1_u64], 0, 0)?;
        let barrier = world.ibarrier()?;
        world.send(&[2_u64], 0, 0)?;
        barrier.wait()?;
        return world.send(&[3_u64], 0, 0);
    }
    let others = world.size() - 1;
    let mut numbers = vec![0_u64; 3 * others];
    let (before, after) = numbers.split_at_mut(2 * others);
    for place in before.chunks_mut(1) {
        world.recv(place, Source::Any, 0)?;
    }
    let barrier = world.ibarrier()?;
    for place in after.chunks_mut(1) {
        world.recv(place, Source::Any, 0)?;
    }
    before.sort_unstable();
    assert_eq!(before[..others], vec![1; others]);
    assert_eq!(before[others..], vec![2; others]);
    assert_eq!(after, vec![3; others]);
    barrier.wait()?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_immediate_multiple_barrier(world: Communicator) -> Result<()> {
    const COUNT: usize = 128;
    let begin = || {
        (0..COUNT)
            .map(|_| world.ibarrier())
            .collect::<Result<Vec<_>>>()
    };
    for barrier in begin()?.into_iter().rev() {
        barrier.wait()?;
    }
    let mut barriers = begin()?;
    let mut over = 0;
    while !barriers.is_empty() {
        let before = barriers.len();
        let mut left = Vec::new();
        for mut barrier in barriers {
            if barrier.test()? {
                barrier.wait()?;
            } else {
                left.push(barrier);
            }
        }
        over += before - left.len();
        barriers = left;
    }
    assert_eq!(over, COUNT);
    still_works(&world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_immediate_broadcast(world: Communicator) -> Result<()> {
    let at_root = world.rank() == 0;
    let number = vec![if at_root { 1024_u64 } else { 0 }];
    let (number, _) = world.ibcast(number, 0)?.wait()?;
    assert_eq!(number, [1024]);
    let powers = if at_root {
        vec![2, 4, 8, 16]
    } else {
        vec![0_u64; 4]
    };
    let (powers, _) = world.ibcast(powers, 0)?.wait()?;
    assert_eq!(powers, [2, 4, 8, 16]);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_immediate_gather(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let room = |length| vec![0; if me == 0 { length } else { 0 }];
    let powers = received(world.igather(vec![2_u64 << me], room(size), 0)?)?;
    let table = received(world.igather(multiples(me, size), room(size * size), 0)?)?;
    if me == 0 {
        assert_eq!(powers, powers_of_two(size));
        assert_eq!(table, multiplication_table(size));
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_immediate_gather_varcount(world: Communicator) -> Result<()> {
    let me = world.rank();
    let (all, blocks) = staircase(world.size());
    let recv = vec![77; if me == 0 { all.len() } else { 0 }];
    let recv = received(world.igatherv((0..me).collect::<Vec<_>>(), recv, &blocks, 0)?)?;
    if me == 0 {
        assert_eq!(recv, all);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_immediate_scatter(world: Communicator) -> Result<()> {
    let send: Vec<usize> = (0..if world.rank() == 0 { world.size() } else { 0 }).collect();
    let mine = received(world.iscatter(send, vec![77], 0)?)?;
    assert_eq!(mine, [world.rank()]);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_immediate_scatter_varcount(world: Communicator) -> Result<()> {
    let me = world.rank();
    let (all, blocks) = staircase(world.size());
    let send = if me == 0 { all } else { Vec::new() };
    let mine = received(world.iscatterv(send, &blocks, vec![77; me], 0)?)?;
    assert_eq!(mine, (0..me).collect::<Vec<_>>());
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_immediate_all_gather(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let powers = received(world.iallgather(vec![2_u64 << me], vec![0; size])?)?;
    assert_eq!(powers, powers_of_two(size));
    let table = received(world.iallgather(multiples(me, size), vec![0; size * size])?)?;
    assert_eq!(table, multiplication_table(size));
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_immediate_all_gather_varcount(world: Communicator) -> Result<()> {
    let (all, blocks) = staircase(world.size());
    let mine: Vec<usize> = (0..world.rank()).collect();
    let recv = received(world.iallgatherv(mine, vec![77; all.len()], &blocks)?)?;
    assert_eq!(recv, all);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_immediate_all_to_all(world: Communicator) -> Result<()> {
    let size = world.size();
    let found = received(world.ialltoall(vec![world.rank(); size], vec![77; size])?)?;
    assert_eq!(found, (0..size).collect::<Vec<_>>());
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_immediate_reduce(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank() as i32, world.size() as i32);
    let sum = received(world.ireduce(vec![rank], vec![0], Sum, 0)?)?;
    assert_eq!(sum[0], if rank == 0 { size * (size - 1) / 2 } else { 0 });
    let largest = received(world.iallreduce(vec![rank], vec![-1], Max)?)?;
    assert_eq!(largest, [size - 1]);
    let ranks: Vec<i32> = (0..size).collect();
    let power = received(world.ireduce_scatter_block(ranks, vec![0], Prod)?)?;
    assert_eq!(power, [rank.pow(size as u32)]);
    let add = |a: i32, b: i32| a + b;
    for op in [UserOp::commutative(add), UserOp::new(add)] {
        let sum = received(world.iallreduce(vec![rank], vec![0], op)?)?;
        assert_eq!(sum, [size * (size - 1) / 2]);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_immediate_scan(world: Communicator) -> Result<()> {
    let rank = world.rank() as i32;
    let sum = received(world.iscan(vec![rank], vec![0], Sum)?)?;
    assert_eq!(sum, [rank * (rank + 1) / 2]);
    let product = received(world.iexscan(vec![rank + 1], vec![0], Prod)?)?;
    if rank > 0 {
        assert_eq!(product[0], (1..=rank).product::<i32>());
    }
    Ok(())
}
