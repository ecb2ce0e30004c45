//! Collectives that return at once.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a failure is a failed test, and ranks and lengths are small"
)]

mod in_place;
mod intercommunicators;
mod layouts;
mod mistakes;
mod neighbors;
#[path = "../collectives/numbers.rs"]
mod numbers;
mod persistent;
mod rsmpi;

use ranks_collectives::ops::{Max, Sum, UserOp};
use ranks_collectives::{Blocks, Collectives, NonblockingCollectives, ScopedCollectives};
use ranks_comm::{Communicator, ErrorKind, Request, Result, Source};

use numbers::staircase;

/// `send` and `recv` of an operation that is over.
fn received<S: Send + 'static, R: Send + 'static>(request: Request<(S, R)>) -> Result<R> {
    let ((_, recv), _) = request.wait()?;
    Ok(recv)
}

/// What is begun now is not confused with what was before.
fn still_works(world: &Communicator) -> Result<()> {
    let sum = received(world.iallreduce(vec![1], vec![0], Sum)?)?;
    assert_eq!(sum, [world.size()]);
    let mut blocking = [0];
    world.allreduce(&[1], &mut blocking, Sum)?;
    assert_eq!(blocking, [world.size()]);
    Ok(())
}

/// At every root, with blocks of none, one and many elements, all under way at once.
#[ranks_test::ranks(1, 2, 3, 4)]
fn rooted_operations_at_every_root_at_once(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let value = |rank: usize, index: usize| (1000 * rank + index) as u32;
    let block = |rank: usize, length: usize| -> Vec<u32> {
        (0..length).map(|index| value(rank, index)).collect()
    };
    for length in [0, 1, if cfg!(miri) { 30 } else { 3000 }] {
        let whole: Vec<u32> = (0..size).flat_map(|rank| block(rank, length)).collect();
        let mut requests = Vec::new();
        for root in 0..size {
            let at_root = me == root;
            let room = if at_root { size * length } else { 0 };
            let bcast = world.ibcast(
                if at_root {
                    block(root, length)
                } else {
                    vec![9; length]
                },
                root,
            )?;
            let gather = world.igather(block(me, length), vec![9; room], root)?;
            let send = if at_root { whole.clone() } else { Vec::new() };
            let scatter = world.iscatter(send, vec![9; length], root)?;
            let sum = vec![9; if at_root { length } else { 0 }];
            let reduce = world.ireduce(block(me, length), sum, Sum, root)?;
            requests.push((root, bcast, gather, scatter, reduce));
        }
        for (root, bcast, gather, scatter, reduce) in requests.into_iter().rev() {
            let (sum, scattered) = (received(reduce)?, received(scatter)?);
            assert_eq!(scattered, block(me, length));
            let gathered = received(gather)?;
            assert_eq!(bcast.wait()?.0, block(root, length));
            if me == root {
                assert_eq!(gathered, whole);
                let sums = (0..length).map(|i| (0..size).map(|rank| value(rank, i)).sum());
                assert_eq!(sum, sums.collect::<Vec<u32>>());
            }
        }
    }
    still_works(&world)
}

/// In process, the first took the contributions to the second.
#[ranks_test::ranks(1, 2, 3, 4)]
fn reductions_at_one_root_end_in_any_order(world: Communicator) -> Result<()> {
    let (root, size) = (world.size() - 1, world.size());
    let first = world.ireduce(vec![1], vec![0], Sum, root)?;
    let second = world.ireduce(vec![10], vec![0], Sum, root)?;
    let sums = [received(second)?, received(first)?];
    if world.rank() == root {
        assert_eq!(sums, [[10 * size], [size]]);
    }
    still_works(&world)
}

/// In process, these took the contribution to what was begun before.
#[ranks_test::ranks(1, 2, 3, 4)]
fn blocking_operations_at_a_root_may_come_between(world: Communicator) -> Result<()> {
    let (me, size, root) = (world.rank(), world.size(), 0);
    let early = world.ireduce(vec![1], vec![0], Sum, root)?;
    let (mut sum, mut all) = ([0], vec![0; if me == root { size } else { 0 }]);
    world.reduce(&[10], &mut sum, Sum, root)?;
    world.gather(&[me], &mut all, root)?;
    let early = received(early)?;
    if me == root {
        assert_eq!((early, sum), (vec![size], [10 * size]));
        assert_eq!(all, (0..size).collect::<Vec<_>>());
    }
    still_works(&world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn blocks_with_gaps_leave_them_alone(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    // Rank r has r + 1 elements, and they lie in the order of ranks from the last one down, one
    // apart.
    let counts: Vec<usize> = (1..=size).collect();
    let mut starts = vec![0; size];
    let mut end = 0;
    for rank in (0..size).rev() {
        starts[rank] = end + 1;
        end = starts[rank] + counts[rank];
    }
    let blocks = Blocks::new(&counts, &starts)?;
    let mut whole = vec![-1_i64; end + 1];
    for rank in 0..size {
        whole[blocks.range(rank)].fill(rank as i64);
    }
    let mine = vec![me as i64; me + 1];
    let root = size - 1;
    let empty = vec![-1; whole.len()];

    let gathered = world.igatherv(mine.clone(), empty.clone(), &blocks, root)?;
    let everywhere = world.iallgatherv(mine.clone(), empty.clone(), &blocks)?;
    let scattered = world.iscatterv(whole.clone(), &blocks, vec![-1; me + 1], root)?;
    // Rank r sends r + 1 elements to each, so that each gets all blocks.
    let to_each = Blocks::from_counts(&vec![me + 1; size])?;
    let exchanged = world.ialltoallv(
        vec![me as i64; size * (me + 1)],
        &to_each,
        empty.clone(),
        &blocks,
    )?;

    assert_eq!(received(exchanged)?, whole);
    assert_eq!(received(scattered)?, mine);
    assert_eq!(received(everywhere)?, whole);
    let gathered = received(gathered)?;
    assert_eq!(gathered, if me == root { whole } else { empty });
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn shares_of_a_reduction_differ_in_length(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let (_, blocks) = staircase(size);
    let send: Vec<u64> = (0..blocks.end())
        .map(|index| (index * (me + 1)) as u64)
        .collect();
    let ranks = (size * (size + 1) / 2) as u64;
    let expected: Vec<u64> = blocks.range(me).map(|index| index as u64 * ranks).collect();
    let request = world.ireduce_scatter(send.clone(), vec![0; me], &blocks, Sum)?;
    assert_eq!(received(request)?, expected);
    let own = UserOp::new(|a: u64, b: u64| a.wrapping_add(b));
    let request = world.ireduce_scatter(send, vec![0; me], &blocks, own)?;
    assert_eq!(received(request)?, expected);
    Ok(())
}

/// Two numbers (factor, shift) are a map x → factor · x + shift; one after the other is associative
/// and does not commute.
fn composition(modulus: u64) -> impl Fn([u64; 2], [u64; 2]) -> [u64; 2] + Copy + Sync {
    move |first, then| {
        [
            first[0] * then[0] % modulus,
            (first[1] * then[0] + then[1]) % modulus,
        ]
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn operations_of_the_program_keep_the_order_of_ranks(world: Communicator) -> Result<()> {
    const LENGTH: usize = 300;
    let (me, size) = (world.rank(), world.size());
    let compose = composition(1_000_003);
    // It holds the modulus, and must last longer than the calls that it is passed to.
    let op = UserOp::new(compose);
    let map = |rank: usize, index: usize| [(rank + index + 2) as u64, (7 * rank + index) as u64];
    let composed = |ranks: std::ops::Range<usize>| -> Vec<[u64; 2]> {
        let one = |index| ranks.clone().map(|rank| map(rank, index)).reduce(compose);
        (0..LENGTH)
            .map(|index| one(index).unwrap_or_default())
            .collect()
    };
    let mine: Vec<[u64; 2]> = (0..LENGTH).map(|index| map(me, index)).collect();
    let room = || vec![[0_u64; 2]; LENGTH];
    let all = world.iallreduce(mine.clone(), room(), op)?;
    let here = world.ireduce(mine.clone(), room(), op, size - 1)?;
    let until = world.iscan(mine.clone(), room(), op)?;
    let before = world.iexscan(mine, room(), op)?;
    assert_eq!(received(before)?, composed(0..me));
    assert_eq!(received(until)?, composed(0..me + 1));
    let here = received(here)?;
    assert_eq!(
        here,
        if me == size - 1 {
            composed(0..size)
        } else {
            room()
        }
    );
    assert_eq!(received(all)?, composed(0..size));
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn a_panic_of_the_programs_operation_is_an_error(world: Communicator) -> Result<()> {
    let op = UserOp::commutative(|_: u8, _: u8| -> u8 { panic!("no sum today") });
    // Every rank scans something but rank 0; which others combine anything is the library's choice.
    let (_, outcome) = world.iscan(vec![1], vec![0], op)?.complete()?;
    if world.rank() == 0 {
        return still_works(&world);
    }
    let error = outcome.expect_err("the panic got lost");
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    assert!(error.to_string().contains("no sum today"), "{error}");
    still_works(&world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn borrowed_slices_are_written_when_the_scope_ends(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let ranks: Vec<usize> = (0..size).collect();
    let mine = [me];
    let (mut sum, mut all, mut from_each, mut share) = ([0], vec![77; size], vec![77; size], [0]);
    let mut word = if me == 0 { *b"ranks" } else { [0; 5] };
    let (mut up_to, mut below, mut dealt) = ([0], [0], [77]);
    world.scope(|s| {
        s.iallreduce(&mine, &mut sum, Sum)?;
        s.iallgather(&mine, &mut all)?;
        s.ialltoall::<u8>(&[], &mut [])?;
        let exchange = s.ialltoall(&ranks, &mut from_each)?;
        s.ibcast(&mut word, 0)?;
        s.iscan(&mine, &mut up_to, Sum)?;
        s.iexscan(&mine, &mut below, Sum)?;
        s.iscatter(&ranks, &mut dealt, size - 1)?;
        s.ireduce_scatter_block(&ranks, &mut share, Sum)?;
        let (found, _) = exchange.wait()?;
        assert_eq!(found, vec![me; size]);
        Result::Ok(())
    })?;
    assert_eq!(sum, [size * (size - 1) / 2]);
    assert_eq!(all, ranks);
    assert_eq!(&word, b"ranks");
    assert_eq!(up_to, [me * (me + 1) / 2]);
    assert_eq!(below, [me * me.saturating_sub(1) / 2]);
    assert_eq!(dealt, [me]);
    assert_eq!(share, [me * size]);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn other_operations_may_come_between(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    let early = world.iallgather(vec![me; 100], vec![0; 100 * size])?;
    let mut sum = [0];
    world.allreduce(&[me], &mut sum, Sum)?;
    let message = world.isend(vec![me; 3], right, 5)?;
    let mut theirs = [0; 3];
    world.recv(&mut theirs, left, 5)?;
    message.wait()?;
    let late = world.iallreduce(vec![me], vec![0], Max)?;
    world.barrier()?;
    assert_eq!(received(late)?, [size - 1]);
    assert_eq!(theirs, [left; 3]);
    let all = received(early)?;
    assert!(
        all.iter()
            .enumerate()
            .all(|(index, &rank)| rank == index / 100)
    );
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn what_is_dropped_leaves_nothing_to_later_operations(world: Communicator) -> Result<()> {
    let size = world.size();
    for round in 0..20 {
        drop(world.iallreduce(vec![1000 + round], vec![0], Sum)?);
        drop(world.iallgather(vec![round; 50], vec![0; 50 * size])?);
        drop(world.ibarrier()?);
        drop(world.ireduce(vec![1000 + round], vec![0], Sum, 0)?);
        let reduced = received(world.ireduce(vec![1], vec![0], Sum, 0)?)?;
        assert_eq!(reduced, [if world.rank() == 0 { size } else { 0 }]);
        let sum = received(world.iallreduce(vec![1], vec![0], Sum)?)?;
        assert_eq!(sum, [size]);
    }
    still_works(&world)
}

/// A rank that has begun need do nothing more for the others to end.
#[ranks_test::ranks(2, 3, 4, in_process_only)]
fn who_has_begun_holds_up_nobody(world: Communicator) -> Result<()> {
    let mut sum = world.iallreduce(vec![1], vec![0], Sum)?;
    let sums = world.iscan(vec![1.0], vec![0.0], Sum)?;
    if world.rank() == 0 {
        // The others tell that they are done while this rank sits in a receive.
        for _ in 1..world.size() {
            world.recv(&mut [0_u8], Source::Any, 0)?;
        }
        assert!(sum.test()?, "all have begun");
    } else {
        while !sum.test()? {
            std::thread::yield_now();
        }
        assert_eq!(received(sums)?, [world.rank() as f64 + 1.0]);
        world.send(&[1_u8], 0, 0)?;
    }
    assert_eq!(received(sum)?, [world.size()]);
    Ok(())
}
