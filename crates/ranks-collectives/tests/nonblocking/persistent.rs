//! Collectives that are prepared once and started again and again.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ranks_collectives::ops::{Max, Sum, UserOp};
use ranks_collectives::{
    Blocks, Collectives, NonblockingCollectives, PersistentCollectives,
    PersistentVaryingCollectives,
};
use ranks_comm::{Active, Communicator, ErrorKind, Persistent, Result};

use crate::numbers::staircase;
use crate::{composition, received, still_works};

/// Once from start to end.
fn done<B: Send + 'static>(request: Persistent<B>) -> Result<Persistent<B>> {
    Ok(request.start()?.wait()?.0)
}

/// What `rank` sends in that round.
fn block(rank: usize, round: usize, length: usize) -> Vec<u32> {
    (0..length)
        .map(|index| (10_000 * (round + 1) + 100 * rank + index) as u32)
        .collect()
}

fn all_blocks(size: usize, round: usize, length: usize) -> Vec<u32> {
    (0..size)
        .flat_map(|rank| block(rank, round, length))
        .collect()
}

const ROUNDS: usize = 3;

/// Elements of no size.
const MANY: usize = if cfg!(miri) { 50 } else { 5000 };

/// Blocks of none, one and many elements move to, from and among ranks.
fn blocks_move(world: &Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let root = size - 1;
    for length in [0, 1, if cfg!(miri) { 20 } else { 700 }] {
        let mine = || vec![0_u32; length];
        let whole = || vec![0_u32; length * size];
        let at_root = |buffer: Vec<u32>| if me == root { buffer } else { Vec::new() };
        let mut bcast = world.bcast_init(mine(), root)?;
        let mut gather = world.gather_init(mine(), at_root(whole()), root)?;
        let mut scatter = world.scatter_init(at_root(whole()), mine(), root)?;
        let mut allgather = world.allgather_init(mine(), whole())?;
        let mut alltoall = world.alltoall_init(whole(), whole())?;
        let mut barrier = world.barrier_init()?;
        for round in 0..ROUNDS {
            if me == root {
                bcast.buffer_mut().copy_from_slice(&block(7, round, length));
                scatter
                    .send_mut()
                    .copy_from_slice(&all_blocks(size, round, length));
            }
            gather.send_mut().copy_from_slice(&block(me, round, length));
            allgather
                .send_mut()
                .copy_from_slice(&block(me, round, length));
            // Rank r gets my r-th block, which says who I am.
            alltoall.send_mut().fill((100 * round + me) as u32);
            bcast = done(bcast)?;
            gather = done(gather)?;
            scatter = done(scatter)?;
            allgather = done(allgather)?;
            alltoall = done(alltoall)?;
            barrier = done(barrier)?;
            assert_eq!(bcast.buffer(), block(7, round, length));
            assert_eq!(scatter.recv(), block(me, round, length));
            assert_eq!(allgather.recv(), all_blocks(size, round, length));
            let expected = at_root(all_blocks(size, round, length));
            assert_eq!(gather.recv(), expected);
            let from_each = (0..size).flat_map(|rank| vec![(100 * round + rank) as u32; length]);
            assert_eq!(alltoall.recv(), from_each.collect::<Vec<_>>());
        }
        let (send, recv) = allgather.free()?;
        assert_eq!(send, block(me, ROUNDS - 1, length));
        assert_eq!(recv, all_blocks(size, ROUNDS - 1, length));
    }
    still_works(world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn blocks_move_at_each_start(world: Communicator) -> Result<()> {
    blocks_move(&world)
}

#[ranks_test::ranks(8, in_process_only)]
fn blocks_move_among_many(world: Communicator) -> Result<()> {
    blocks_move(&world)
}

/// Libraries scatter what was there at the first start, also where they gather what is there.
#[ranks_test::ranks(1, 2, 3, 4)]
fn what_is_scattered_from_any_root_is_what_is_there_at_each_start(
    world: Communicator,
) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    for root in 0..size {
        for length in [1, if cfg!(miri) { 30 } else { 1000 }] {
            let mut scatter = world.scatter_init(vec![0; size * length], vec![0; length], root)?;
            for round in 0..ROUNDS {
                let all = all_blocks(size, round, length);
                scatter.send_mut().copy_from_slice(&all);
                scatter.recv_mut().fill(7);
                scatter = done(scatter)?;
                assert_eq!(scatter.recv(), block(me, round, length), "root {root}");
            }
        }
    }
    still_works(&world)
}

/// Who has prepared operations with one rank before, and with none, come to the same way with
/// others.
#[ranks_test::ranks(3, 4)]
fn ranks_that_know_the_library_prepare_with_ranks_that_do_not(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let parts = [(me == 1).then_some(0), (me > 1).then_some(0), Some(0)];
    for part in parts {
        let Some(part) = world.split(part, 0)? else {
            continue;
        };
        let request = done(part.allreduce_init(vec![1], vec![0], Sum)?)?;
        assert_eq!(request.recv(), [part.size()]);
    }
    let request = done(world.allreduce_init(vec![1], vec![0], Sum)?)?;
    assert_eq!(request.recv(), [size]);
    still_works(&world)
}

/// Rank r has r elements, the first none.
fn uneven_blocks_move(world: &Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let root = size / 2;
    let (whole, blocks) = staircase(size);
    let room = || vec![77_usize; whole.len()];
    let at_root = |buffer: Vec<usize>| if me == root { buffer } else { Vec::new() };
    // Rank r sends r elements to each, so that each gets all blocks.
    let to_each = Blocks::from_counts(&vec![me; size])?;
    let mut gatherv = world.gatherv_init(vec![0; me], at_root(room()), &blocks, root)?;
    let mut scatterv = world.scatterv_init(at_root(room()), &blocks, vec![77; me], root)?;
    let mut allgatherv = world.allgatherv_init(vec![0; me], room(), &blocks)?;
    let mut alltoallv = world.alltoallv_init(vec![0; me * size], &to_each, room(), &blocks)?;
    // What was divided so may go before what it divides.
    drop((to_each, blocks.clone()));
    for round in 0..ROUNDS {
        let now = |value: &usize| value + 1000 * round;
        let all: Vec<usize> = whole.iter().map(now).collect();
        let own = &all[blocks.range(me)];
        gatherv.send_mut().copy_from_slice(own);
        allgatherv.send_mut().copy_from_slice(own);
        for part in alltoallv.send_mut().chunks_mut(me.max(1)) {
            part.copy_from_slice(own);
        }
        if me == root {
            scatterv.send_mut().copy_from_slice(&all);
        }
        gatherv = done(gatherv)?;
        scatterv = done(scatterv)?;
        allgatherv = done(allgatherv)?;
        alltoallv = done(alltoallv)?;
        assert_eq!(gatherv.recv(), at_root(all.clone()));
        assert_eq!(scatterv.recv(), own);
        assert_eq!(allgatherv.recv(), all);
        assert_eq!(alltoallv.recv(), all);
    }
    still_works(world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn uneven_blocks_move_at_each_start(world: Communicator) -> Result<()> {
    uneven_blocks_move(&world)
}

#[ranks_test::ranks(8, in_process_only)]
fn uneven_blocks_move_among_many(world: Communicator) -> Result<()> {
    uneven_blocks_move(&world)
}

/// Every element of rank r is r plus its index plus that of the round.
fn reductions_reduce(world: &Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let root = size - 1;
    let value = |rank: usize, round: usize, index: usize| (rank + index + 5 * round) as u64;
    let sum = |ranks: std::ops::Range<usize>, round: usize, index: usize| -> u64 {
        ranks.map(|rank| value(rank, round, index)).sum()
    };
    let (_, blocks) = staircase(size);
    let zeros = |length: usize| vec![0_u64; length];
    for length in [1, 300] {
        let here = if me == root { length } else { 0 };
        let mut reduce = world.reduce_init(zeros(length), zeros(here), Max, root)?;
        let mut allreduce = world.allreduce_init(zeros(length), zeros(length), Sum)?;
        let mut scan = world.scan_init(zeros(length), zeros(length), Sum)?;
        let mut exscan = world.exscan_init(zeros(length), zeros(length), Sum)?;
        let mut even = world.reduce_scatter_block_init(zeros(size * length), zeros(length), Sum)?;
        let mut uneven = world.reduce_scatter_init(zeros(blocks.end()), zeros(me), &blocks, Sum)?;
        for round in 0..ROUNDS {
            let fill = |data: &mut [u64]| {
                for (index, element) in data.iter_mut().enumerate() {
                    *element = value(me, round, index);
                }
            };
            fill(reduce.send_mut());
            fill(allreduce.send_mut());
            fill(scan.send_mut());
            fill(exscan.send_mut());
            fill(even.send_mut());
            fill(uneven.send_mut());
            reduce = done(reduce)?;
            allreduce = done(allreduce)?;
            scan = done(scan)?;
            exscan = done(exscan)?;
            even = done(even)?;
            uneven = done(uneven)?;
            let sums = |ranks: std::ops::Range<usize>, places: std::ops::Range<usize>| {
                places
                    .map(|index| sum(ranks.clone(), round, index))
                    .collect::<Vec<_>>()
            };
            let most: Vec<u64> = (0..here).map(|i| value(size - 1, round, i)).collect();
            assert_eq!(reduce.recv(), most);
            assert_eq!(allreduce.recv(), sums(0..size, 0..length));
            assert_eq!(scan.recv(), sums(0..me + 1, 0..length));
            assert_eq!(exscan.recv(), sums(0..me, 0..length));
            assert_eq!(even.recv(), sums(0..size, me * length..(me + 1) * length));
            assert_eq!(uneven.recv(), sums(0..size, blocks.range(me)));
        }
    }
    still_works(world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn reductions_reduce_at_each_start(world: Communicator) -> Result<()> {
    reductions_reduce(&world)
}

#[ranks_test::ranks(8, in_process_only)]
fn reductions_reduce_among_many(world: Communicator) -> Result<()> {
    reductions_reduce(&world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn operations_of_the_program_are_called_at_each_start(world: Communicator) -> Result<()> {
    const LENGTH: usize = 20;
    let (me, size) = (world.rank(), world.size());
    let compose = composition(1_000_003);
    let op = UserOp::new(compose);
    let map = |rank: usize, round: usize, index: usize| {
        [(rank + index + round + 2) as u64, (7 * rank + index) as u64]
    };
    let room = || vec![[0_u64; 2]; LENGTH];
    let (_, blocks) = staircase(size);
    let mut all = world.allreduce_init(room(), room(), op)?;
    let mut until = world.scan_init(room(), room(), op)?;
    let least = UserOp::commutative(|a: u8, b: u8| a.min(b));
    let mut share =
        world.reduce_scatter_init(vec![0; blocks.end()], vec![0; me], &blocks, least)?;
    for round in 0..ROUNDS {
        let composed = |ranks: std::ops::Range<usize>| -> Vec<[u64; 2]> {
            let one = |index| {
                let maps = ranks.clone().map(|rank| map(rank, round, index));
                maps.reduce(compose).unwrap_or_default()
            };
            (0..LENGTH).map(one).collect()
        };
        for (index, element) in all.send_mut().iter_mut().enumerate() {
            *element = map(me, round, index);
        }
        until.send_mut().copy_from_slice(all.send());
        share.send_mut().fill((me + round) as u8);
        all = done(all)?;
        until = done(until)?;
        share = done(share)?;
        assert_eq!(all.recv(), composed(0..size));
        assert_eq!(until.recv(), composed(0..me + 1));
        assert_eq!(share.recv(), vec![round as u8; me]);
    }
    still_works(&world)
}

/// The sum of 1 from each rank, unless the first element is 0.
#[ranks_test::ranks(2, 3, 4)]
fn a_panic_of_the_programs_operation_is_an_error_of_that_start_alone(
    world: Communicator,
) -> Result<()> {
    let op = UserOp::commutative(|a: u64, b: u64| {
        assert!(a > 0 && b > 0, "no sum today");
        a + b
    });
    // Every rank scans something but rank 0; which others combine anything is the library's choice.
    let mut request = world.scan_init(vec![1_u64], vec![0], op)?;
    for round in 0..ROUNDS {
        let fails = round % 2 == 0;
        request.send_mut()[0] = u64::from(!fails);
        let (again, outcome) = request.start()?.complete()?;
        request = again;
        match outcome {
            Ok(_) => assert!(!fails || world.rank() == 0),
            Err(error) => {
                assert!(fails, "{error}");
                assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
                assert!(error.to_string().contains("no sum today"), "{error}");
            }
        }
        if !fails {
            assert_eq!(request.recv(), [world.rank() as u64 + 1]);
        }
    }
    still_works(&world)
}

/// The library must not be told of a byte for each of them: there is no memory behind their
/// addresses.
#[ranks_test::ranks(1, 2, 3, 4)]
fn elements_of_no_size_are_no_bytes_to_combine(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let op = UserOp::commutative(|(), ()| ());
    let some = || vec![(); MANY];
    let all = vec![(); MANY * size];
    done(world.reduce_init(some(), some(), op, size - 1)?)?.free()?;
    done(world.allreduce_init(some(), some(), op)?)?.free()?;
    done(world.scan_init(some(), some(), op)?)?.free()?;
    done(world.exscan_init(some(), some(), op)?)?.free()?;
    done(world.reduce_scatter_block_init(all, some(), op)?)?.free()?;
    let (_, blocks) = staircase(size);
    let (send, recv) = (vec![(); blocks.end()], vec![(); me]);
    done(world.reduce_scatter_init(send, recv, &blocks, op)?)?.free()?;
    still_works(&world)
}

/// Each rank starts and completes what all have prepared in an order of its own.
#[ranks_test::ranks(1, 2, 3, 4)]
fn each_rank_starts_in_its_own_order(world: Communicator) -> Result<()> {
    const OPERATIONS: usize = 5;
    let (me, size) = (world.rank(), world.size());
    let mut idle = Vec::new();
    for which in 0..OPERATIONS {
        idle.push(Some(if which % 2 == 0 {
            world.allreduce_init(vec![0; size], vec![0; size], Sum)?
        } else {
            world.alltoall_init(vec![0; size], vec![0; size])?
        }));
    }
    for round in 0..ROUNDS {
        let mut under_way: Vec<(usize, Active<_>)> = Vec::new();
        for step in 0..OPERATIONS {
            let which = (step + me + round) % OPERATIONS;
            let mut request = idle[which].take().unwrap();
            request.send_mut().fill(100 * which + me + round);
            under_way.push((which, request.start()?));
        }
        // What is neither meets none of them.
        let between = world.iallreduce(vec![me], vec![0], Max)?;
        world.barrier()?;
        assert_eq!(received(between)?, [size - 1]);
        let first = me % OPERATIONS;
        under_way.rotate_left(first);
        for (which, active) in under_way {
            let (request, _) = active.wait()?;
            let value = |rank: usize| 100 * which + rank + round;
            let expected: Vec<usize> = if which % 2 == 0 {
                vec![(0..size).map(value).sum(); size]
            } else {
                (0..size).map(value).collect()
            };
            assert_eq!(request.recv(), expected, "operation {which}");
            idle[which] = Some(request);
        }
    }
    still_works(&world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn many_are_started_and_waited_for_together(world: Communicator) -> Result<()> {
    const MANY: usize = 9;
    let size = world.size();
    let prepare = |which: usize| world.allreduce_init(vec![which], vec![0], Sum);
    let mut requests: Vec<_> = (0..MANY).map(prepare).collect::<Result<_>>()?;
    for _ in 0..ROUNDS {
        for request in &mut requests {
            request.send_mut()[0] += 1;
        }
        let started = Persistent::start_all(requests)?;
        requests = Active::wait_all(started)?;
        for request in &requests {
            assert_eq!(request.recv()[0], request.send()[0] * size);
        }
    }
    let mut active = requests.swap_remove(0).start()?;
    while !active.test()? {
        std::thread::yield_now();
    }
    assert!(active.test()?, "it stays so");
    let (request, _) = active.wait()?;
    assert_eq!(request.recv(), [ROUNDS * size]);
    assert_eq!(request.communicator().unwrap().size(), size);
    still_works(&world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn what_is_dropped_leaves_nothing_to_later_operations(world: Communicator) -> Result<()> {
    let size = world.size();
    let own = UserOp::commutative(|a: usize, b: usize| a.max(b));
    for round in 0..4 {
        drop(
            world
                .allreduce_init(vec![1000 + round], vec![0], Sum)?
                .start()?,
        );
        drop(
            world
                .allreduce_init(vec![1000 + round], vec![0], own)?
                .start()?,
        );
        let (_, blocks) = staircase(size);
        let send = vec![round; world.rank()];
        let gather = world.allgatherv_init(send, vec![0; blocks.end()], &blocks)?;
        drop(gather.start()?);
        drop(world.barrier_init()?);
        let unwound = catch_unwind(AssertUnwindSafe(|| -> Result<()> {
            let active = world.bcast_init(vec![round; 50], 0)?.start()?;
            std::panic::resume_unwind(Box::new(active));
        }));
        drop(unwound);
        let request = done(world.allreduce_init(vec![1], vec![0], Sum)?)?;
        assert_eq!(request.recv(), [size]);
    }
    still_works(&world)
}

/// All ranks are wrong, each in its way, and nothing is prepared.
#[ranks_test::ranks(1, 2, 3, 4)]
fn what_does_not_fit_is_refused_when_it_is_prepared(world: Communicator) -> Result<()> {
    let size = world.size();
    let kind = |error: ranks_comm::Error| error.kind();
    let too_long = || vec![0_u8; size + 1];
    let error = world
        .allreduce_init(vec![0_u8; 2], vec![0; 3], Sum)
        .unwrap_err();
    assert!(
        error.to_string().starts_with("MPI_Allreduce_init: "),
        "{error}"
    );
    assert_eq!(kind(error), ErrorKind::Length);
    let error = world.allgather_init(vec![0], too_long()).unwrap_err();
    assert_eq!(kind(error), ErrorKind::Length);
    let error = world.bcast_init(too_long(), size).unwrap_err();
    assert_eq!(kind(error), ErrorKind::Root);
    let error = world.reduce_init(vec![0], vec![0], Sum, size).unwrap_err();
    assert_eq!(kind(error), ErrorKind::Root);
    let blocks = Blocks::from_counts(&vec![2; size])?;
    let error = world
        .allgatherv_init(vec![0_u8; 2], too_long(), &Blocks::default())
        .unwrap_err();
    assert_eq!(kind(error), ErrorKind::Length);
    let error = world
        .alltoallv_init(
            vec![0_u8; 2 * size - 1],
            &blocks,
            vec![0; 2 * size],
            &blocks,
        )
        .unwrap_err();
    assert_eq!(kind(error), ErrorKind::Length);
    still_works(&world)
}

/// The form for a library that prepares nothing had a communicator without the limit.
#[ranks_test::ranks(2)]
fn a_persistent_collective_was_waited_for_beyond_its_limit(world: Communicator) -> Result<()> {
    let limited = world.dup()?;
    let sum = limited.allreduce_init(vec![1], vec![0], Sum)?;
    limited.set_time_limit(Some(std::time::Duration::from_millis(200)))?;
    if world.rank() == 0 {
        let late = sum.start()?.wait().map(drop).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut, "{late}");
        return world.send(&[1u8], 1, 0);
    }
    world.recv(&mut [0u8], 0, 0)?;
    // The other rank has left its part to the runtime.
    limited.set_time_limit(Some(std::time::Duration::from_secs(20)))?;
    let (sum, _) = sum.start()?.wait()?;
    assert_eq!(sum.recv(), [2]);
    Ok(())
}
