//! What the example programs of rsmpi assert of collectives.

use ranks_collectives::ops::{Band, Bor, Bxor, Max, Prod, Sum, UserOp};
use ranks_collectives::{Collectives, VaryingCollectives};
use ranks_comm::{Communicator, Result, Source};

use crate::numbers::{multiples, multiplication_table, powers_of_two, staircase};

#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_gather(world: Communicator) -> Result<()> {
    let size = world.size();
    let at_root = world.rank() == 0;
    let mut powers = vec![0; if at_root { size } else { 0 }];
    world.gather(&[2_u64 << world.rank()], &mut powers, 0)?;
    let mut table = vec![0; if at_root { size * size } else { 0 }];
    world.gather(&multiples(world.rank(), size), &mut table, 0)?;
    if at_root {
        assert_eq!(powers, powers_of_two(size));
        assert_eq!(table, multiplication_table(size));
    }
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_gather_varcount(world: Communicator) -> Result<()> {
    let mine: Vec<usize> = (0..world.rank()).collect();
    let (all, blocks) = staircase(world.size());
    let mut recv = vec![77; if world.rank() == 0 { all.len() } else { 0 }];
    world.gatherv_into(&mine, &mut recv, &blocks, 0)?;
    let found = world.gatherv(&mine, 0)?;
    if world.rank() == 0 {
        assert_eq!(recv, all);
        assert_eq!(found.map(|found| found.into_vec()), Some(all));
    }
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_scatter(world: Communicator) -> Result<()> {
    let ranks: Vec<usize> = (0..world.size()).collect();
    let send = if world.rank() == 0 { &ranks[..] } else { &[] };
    let mut mine = [77];
    world.scatter(send, &mut mine, 0)?;
    assert_eq!(mine[0], world.rank());
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_scatter_varcount(world: Communicator) -> Result<()> {
    let (all, blocks) = staircase(world.size());
    let send = if world.rank() == 0 { &all[..] } else { &[] };
    let mut mine = vec![77; world.rank()];
    world.scatterv_into(send, &blocks, &mut mine, 0)?;
    assert_eq!(mine, (0..world.rank()).collect::<Vec<_>>());
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_all_gather(world: Communicator) -> Result<()> {
    let size = world.size();
    let mut powers = vec![0; size];
    world.allgather(&[2_u64 << world.rank()], &mut powers)?;
    assert_eq!(powers, powers_of_two(size));
    let mut table = vec![0; size * size];
    world.allgather(&multiples(world.rank(), size), &mut table)?;
    assert_eq!(table, multiplication_table(size));
    Ok(())
}

/// A `bool` cannot be received, since a byte 2 would make an invalid one; truths travel as bytes.
#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_all_gather_bool(world: Communicator) -> Result<()> {
    let mut even = vec![0_u8; world.size()];
    world.allgather(&[u8::from(world.rank().is_multiple_of(2))], &mut even)?;
    let even: Vec<bool> = even.iter().map(|&byte| byte != 0).collect();
    assert_eq!(even, [true, false, true, false][..world.size()]);
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_all_gather_varcount(world: Communicator) -> Result<()> {
    let mine: Vec<usize> = (0..world.rank()).collect();
    let (all, blocks) = staircase(world.size());
    let mut recv = vec![77; all.len()];
    world.allgatherv_into(&mine, &mut recv, &blocks)?;
    assert_eq!(recv, all);
    assert_eq!(world.allgatherv(&mine)?.into_vec(), all);
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_all_to_all(world: Communicator) -> Result<()> {
    let mut found = vec![77; world.size()];
    world.alltoall(&vec![world.rank(); world.size()], &mut found)?;
    assert_eq!(found, (0..world.size()).collect::<Vec<_>>());
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_reduce(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank() as i32, world.size() as i32);
    let mut sum = [0];
    world.reduce(&[rank], &mut sum, Sum, 0)?;
    if rank == 0 {
        assert_eq!(sum[0], size * (size - 1) / 2);
    }
    let mut largest = [-1];
    world.allreduce(&[rank], &mut largest, Max)?;
    assert_eq!(largest[0], size - 1);

    let (a, b) = (0b0000_1111_1111_0000_u16, 0b0011_1100_0011_1100);
    let mut bits = [b];
    world.reduce_local(&[a], &mut bits, Band)?;
    assert_eq!(bits[0], 0b0000_1100_0011_0000);
    bits = [b];
    world.reduce_local(&[a], &mut bits, Bor)?;
    assert_eq!(bits[0], 0b0011_1111_1111_1100);
    bits = [b];
    world.reduce_local(&[a], &mut bits, Bxor)?;
    assert_eq!(bits[0], 0b0011_0011_1100_1100);

    let ranks: Vec<i32> = (0..size).collect();
    let mut power = [0];
    world.reduce_scatter_block(&ranks, &mut power, Prod)?;
    assert_eq!(power[0], rank.wrapping_pow(size as u32));

    let add = |a: i32, b: i32| a + b;
    for op in [UserOp::commutative(add), UserOp::new(add)] {
        world.allreduce(&[rank + 1], &mut sum, op)?;
        assert_eq!(sum[0], size * (size + 1) / 2);
    }
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_scan(world: Communicator) -> Result<()> {
    let rank = world.rank() as i32;
    let mut sum = [0];
    world.scan(&[rank], &mut sum, Sum)?;
    assert_eq!(sum[0], rank * (rank + 1) / 2);
    let mut product = [0];
    world.exscan(&[rank + 1], &mut product, Prod)?;
    if rank > 0 {
        assert_eq!(product[0], (1..=rank).product::<i32>());
    }
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_broadcast(world: Communicator) -> Result<()> {
    let at_root = world.rank() == 0;
    let mut number = [if at_root { 1024_u64 } else { 0 }];
    world.bcast(&mut number, 0)?;
    assert_eq!(number, [1024]);
    let mut powers = if at_root { [2, 4, 8, 16] } else { [0_u64; 4] };
    world.bcast(&mut powers, 0)?;
    assert_eq!(powers, [2, 4, 8, 16]);
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_barrier(world: Communicator) -> Result<()> {
    if world.rank() > 0 {
        world.send(&[1_u64], 0, 0)?;
        world.barrier()?;
        return world.send(&[2_u64], 0, 0);
    }
    let others = world.size() - 1;
    let mut received = vec![0_u64; 2 * others];
    let (before, after) = received.split_at_mut(others);
    for place in before {
        world.recv(std::slice::from_mut(place), Source::Any, 0)?;
    }
    world.barrier()?;
    for place in after {
        world.recv(std::slice::from_mut(place), Source::Any, 0)?;
    }
    assert_eq!(received[..others], vec![1; others]);
    assert_eq!(received[others..], vec![2; others]);
    Ok(())
}
