//! Ranks that are threads read each other's memory where it is: what that comes to, and that it
//! ends before the memory is the owner's again, however a rank leaves.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ranks_collectives::ops::{Max, Sum, UserOp};
use ranks_collectives::{Blocks, Collectives, InPlaceCollectives, Op, VaryingCollectives};
use ranks_comm::{Backend, Checks, Communicator, Error, ErrorKind, Result, Runtime};

/// More than one part for each of several ranks, and no round number.
const LARGE: usize = if cfg!(miri) { 8_301 } else { 150_003 };

fn ranks(size: usize, body: impl Fn(&Communicator) -> Result<()> + Send + Sync) {
    let builder = Runtime::builder().backend(Backend::InProcess).ranks(size);
    let outcome = builder.checks(Checks::Local).run(|world| body(&world));
    outcome.unwrap();
}

/// Runs it on 2, 3 and 4 ranks; under miri, on 2.
fn without_comparing(body: impl Fn(&Communicator) + Send + Sync) {
    let most = if cfg!(miri) { 2 } else { 4 };
    for size in 2..=most {
        ranks(size, |world| {
            body(world);
            Ok(())
        });
    }
}

/// Elements whose sum depends on the order in which it is taken. Miri does not round `powi` the
/// same way twice.
fn element(rank: usize, index: usize) -> f64 {
    const POWERS: [f64; 17] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    ];
    let sign = if (rank + index).is_multiple_of(2) {
        1.0
    } else {
        -1.0
    };
    sign * POWERS[(rank * 7 + index % 13) % 17] / (index + 3) as f64
}

fn bits(elements: &[f64]) -> Vec<u64> {
    elements.iter().map(|element| element.to_bits()).collect()
}

/// Each reduction, against elements that are combined in the order of ranks.
fn every_reduction<O: Op<f64>>(world: &Communicator, len: usize, op: O, one: fn(f64, f64) -> f64) {
    let (me, size) = (world.rank(), world.size());
    let mine: Vec<f64> = (0..len).map(|index| element(me, index)).collect();
    let of = |ranks: usize| -> Vec<u64> {
        let folded = |index: usize| (0..ranks).map(|rank| element(rank, index)).reduce(one);
        let all = (0..len).map(|index| folded(index).unwrap_or(f64::NAN));
        all.map(f64::to_bits).collect()
    };
    let whole = of(size);

    let mut sum = vec![0.0; len];
    world.allreduce(&mine, &mut sum, op).unwrap();
    assert_eq!(bits(&sum), whole, "allreduce of {len}");
    let mut sum = mine.clone();
    world.allreduce_in_place(&mut sum, op).unwrap();
    assert_eq!(bits(&sum), whole, "allreduce of {len} in place");

    for root in [0, size - 1] {
        let mut sum = vec![0.0; len];
        world.reduce(&mine, &mut sum, op, root).unwrap();
        let mut in_place = mine.clone();
        world.reduce_in_place(&mut in_place, op, root).unwrap();
        if me == root {
            assert_eq!(bits(&sum), whole, "reduce of {len}");
            assert_eq!(bits(&in_place), whole, "reduce of {len} in place");
        } else {
            assert_eq!(in_place, mine);
        }
    }

    let mut sum = vec![0.0; len];
    world.scan(&mine, &mut sum, op).unwrap();
    assert_eq!(bits(&sum), of(me + 1), "scan of {len}");
    let mut sum = mine.clone();
    world.scan_in_place(&mut sum, op).unwrap();
    assert_eq!(bits(&sum), of(me + 1), "scan of {len} in place");
    let mut sum = vec![0.0; len];
    world.exscan(&mine, &mut sum, op).unwrap();
    if me > 0 {
        assert_eq!(bits(&sum), of(me), "exscan of {len}");
    } else {
        assert_eq!(sum, vec![0.0; len]);
    }

    let blocks = Blocks::even(len, size);
    let share = &whole[blocks.range(me)];
    let mut sum = vec![0.0; share.len()];
    world.reduce_scatter(&mine, &mut sum, &blocks, op).unwrap();
    assert_eq!(bits(&sum), share, "reduce_scatter of {len}");
    let block = len / size;
    let mut sum = vec![0.0; block];
    let even = &mine[..block * size];
    world.reduce_scatter_block(even, &mut sum, op).unwrap();
    let share = &whole[me * block..(me + 1) * block];
    assert_eq!(bits(&sum), share, "reduce_scatter_block of {len}");
    let mut in_place = even.to_vec();
    world
        .reduce_scatter_block_in_place(&mut in_place, op)
        .unwrap();
    assert_eq!(bits(&in_place[..block]), share);
}

#[test]
fn reductions_have_the_bits_of_the_order_of_ranks() {
    let sizes: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 3, 4, 8] };
    for &size in sizes {
        ranks(size, |world| {
            for len in [0, 1, 8, 9, 1001, LARGE] {
                every_reduction(world, len, Sum, |a, b| a + b);
            }
            every_reduction(world, 1001, Max, f64::max);
            let from_below = UserOp::new(|a: f64, b: f64| a / 3.0 + b);
            every_reduction(world, LARGE, from_below, |a, b| a / 3.0 + b);
            Ok(())
        });
    }
}

#[test]
fn long_blocks_arrive_whole() {
    let sizes: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 3, 4, 8] };
    for &size in sizes {
        ranks(size, |world| {
            let me = world.rank();
            let block = |from: usize, to: usize| -> Vec<u64> {
                let first = (from * 1000 + to) as u64 * 1_000_000;
                (first..first + LARGE as u64).collect()
            };
            let of_all = |to: usize| {
                (0..size)
                    .flat_map(|from| block(from, to))
                    .collect::<Vec<_>>()
            };
            let to_all: Vec<u64> = (0..size).flat_map(|to| block(me, to)).collect();
            for root in [0, size - 1] {
                let mut data = if me == root {
                    block(root, 0)
                } else {
                    vec![0; LARGE]
                };
                world.bcast(&mut data, root)?;
                assert_eq!(data, block(root, 0));
                let mut all = vec![0; if me == root { size * LARGE } else { 0 }];
                world.gather(&block(me, 0), &mut all, root)?;
                assert!(me != root || all == of_all(0));
                let mut mine = vec![0; LARGE];
                world.scatter(if me == root { &to_all } else { &[] }, &mut mine, root)?;
                assert_eq!(mine, block(root, me));
            }
            let mut all = vec![0; size * LARGE];
            world.allgather(&block(me, 0), &mut all)?;
            assert_eq!(all, of_all(0));
            all.fill(0);
            all[me * LARGE..(me + 1) * LARGE].copy_from_slice(&block(me, 0));
            world.allgather_in_place(&mut all)?;
            assert_eq!(all, of_all(0));
            all.fill(0);
            world.alltoall(&to_all, &mut all)?;
            assert_eq!(all, of_all(me));
            let blocks = Blocks::even(size * LARGE, size);
            all.fill(0);
            world.alltoallv_into(&to_all, &blocks, &mut all, &blocks)?;
            assert_eq!(all, of_all(me));
            all.fill(0);
            world.allgatherv_into(&block(me, 0), &mut all, &blocks)?;
            assert_eq!(all, of_all(0));
            Ok(())
        });
    }
}

/// The operations after a failed one start clean.
fn still_works(world: &Communicator) {
    let mut sum = [0];
    world.allreduce(&[1_usize], &mut sum, Sum).unwrap();
    assert_eq!(sum[0], world.size());
    let mut sum = vec![0; LARGE];
    world.allreduce(&vec![1; LARGE], &mut sum, Sum).unwrap();
    assert!(sum.iter().all(|&sum| sum == world.size()));
}

#[test]
fn lengths_that_differ_are_the_same_error_on_all_ranks_however_long() {
    without_comparing(|world| {
        for (one, others) in [
            (1, 9),
            (9, 1),
            (1001, LARGE),
            (LARGE, 3),
            (LARGE, LARGE - 1),
            (0, 1),
        ] {
            for odd_one in [0, world.size() - 1] {
                let len = if world.rank() == odd_one { one } else { others };
                let mut sum = vec![7.0; len];
                let error = world.allreduce(&vec![1.0; len], &mut sum, Sum).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Length, "{error}");
                let error = world.allreduce_in_place(&mut sum, Sum).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Length, "{error}");
                let mut all = vec![7.0; len * world.size()];
                let error = world.allgather(&vec![1.0; len], &mut all).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Length, "{error}");
                let error = world.alltoall(&all.clone(), &mut all).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Length, "{error}");
                let error = world.reduce_scatter_block(&all, &mut sum, Sum).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Length, "{error}");
                assert!(sum.iter().all(|&untouched| untouched == 7.0));
                still_works(world);
            }
        }
    });
}

#[test]
fn a_long_block_of_another_length_fails_where_it_differs() {
    without_comparing(|world| {
        let odd_one = world.size() - 1;
        let len = LARGE + usize::from(world.rank() == odd_one);
        let result = world.bcast(&mut vec![0_u64; len], 0);
        assert_eq!(result.is_err(), world.rank() == odd_one);
        let mut all = vec![0_u64; LARGE * world.size()];
        let result = world.gather(&vec![1; len], &mut all, 0);
        assert_eq!(result.is_err(), world.rank() == 0);
        let result = world.reduce(&vec![1; len], &mut vec![0; len], Sum, 0);
        assert_eq!(result.is_err(), world.rank() == 0);
        still_works(world);
    });
}

#[test]
fn an_operation_that_panics_in_a_part_of_a_long_reduction_fails_on_all_ranks() {
    without_comparing(|world| {
        let op = UserOp::new(|a: u64, b: u64| {
            assert!(a + b != 13, "thirteen");
            a + b
        });
        // The element lies in the part of the last rank.
        let mut mine = vec![1; LARGE];
        mine[LARGE - 1] = if world.rank() == 0 { 12 } else { 1 };
        let mut sum = vec![0; LARGE];
        let error = world.allreduce(&mine, &mut sum, op).unwrap_err();
        if world.rank() == world.size() - 1 {
            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
            assert!(error.to_string().contains("thirteen"), "{error}");
        } else {
            assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
        }
        let error = world.allreduce_in_place(&mut mine, op).unwrap_err();
        assert!([ErrorKind::Argument, ErrorKind::PeerFailed].contains(&error.kind()));
        still_works(world);
    });
}

/// Memory is written to, and freed, right after.
fn within_a_moment(world: &Communicator, op: impl Op<u64>) -> Error {
    let (mut mine, mut sum) = (vec![1; LARGE], vec![0; LARGE]);
    let limit = Duration::from_millis(if cfg!(miri) { 2000 } else { 100 });
    let late = world.within(limit, |world| world.allreduce(&mine, &mut sum, op));
    mine.fill(2);
    sum.fill(3);
    late.unwrap_err()
}

/// The rank has come to its limit, or after another one had.
fn is_late(error: &Error) {
    let kinds = [ErrorKind::TimedOut, ErrorKind::PeerFailed];
    assert!(kinds.contains(&error.kind()), "{error}");
}

#[test]
fn a_long_reduction_to_which_a_rank_does_not_come_ends_at_the_limit() {
    for size in 2..=3 {
        ranks(size, |world| {
            let last = world.size() - 1;
            if world.rank() == last {
                for other in 0..last {
                    world.recv(&mut [0_u8], other, 1)?;
                }
                let error = within_a_moment(world, Sum);
                assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
                return Ok(());
            }
            let error = within_a_moment(world, Sum);
            is_late(&error);
            world.send(&[1_u8], last, 1)?;
            is_late(&world.barrier().unwrap_err());
            Ok(())
        });
    }
}

/// A rank leaves while another one still combines what it has lent.
#[test]
fn a_limit_ends_while_another_rank_is_in_its_part_of_a_long_reduction() {
    for size in 2..=3 {
        let has_left = AtomicBool::new(false);
        ranks(size, |world| {
            let is_slow = world.rank() == 1;
            let op = UserOp::new(|a: u64, b: u64| {
                while is_slow && !has_left.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                a + b
            });
            if is_slow {
                let mut sum = vec![0; LARGE];
                let error = world.allreduce(&vec![1; LARGE], &mut sum, op).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
            } else {
                is_late(&within_a_moment(world, op));
                has_left.store(true, Ordering::Release);
            }
            Ok(())
        });
    }
}

#[test]
fn long_messages_that_nobody_reads_end_at_the_limit() {
    ranks(2, |world| {
        if world.rank() == 1 {
            world.recv(&mut [0_u8], 0, 1)?;
            let late = world.bcast(&mut vec![0_u64; LARGE], 0);
            assert_eq!(late.unwrap_err().kind(), ErrorKind::PeerFailed);
            return Ok(());
        }
        let mut data = vec![1_u64; LARGE];
        let limit = Duration::from_millis(100);
        let late = world.within(limit, |world| world.bcast(&mut data, 0));
        assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
        data.fill(2);
        drop(data);
        world.send(&[1_u8], 1, 1)
    });
}

#[test]
fn a_rank_that_ends_before_a_long_operation_ends_it_for_the_others() {
    for size in 2..=3 {
        let builder = Runtime::builder().backend(Backend::InProcess).ranks(size);
        let outcome = builder.checks(Checks::Local).run(|world| {
            if world.rank() == 1 {
                return Ok(());
            }
            let (mine, mut sum) = (vec![1_u64; LARGE], vec![0; LARGE]);
            let error = world.allreduce(&mine, &mut sum, Sum).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
            let error = world.alltoall(
                &mine[..LARGE / size * size],
                &mut sum[..LARGE / size * size],
            );
            assert_eq!(error.unwrap_err().kind(), ErrorKind::PeerFailed);
            Ok::<(), Error>(())
        });
        outcome.unwrap();
    }
}
