//! Operations in place that return at once, or that are prepared: each leaves what the blocking one
//! does.

use std::ops::Range;
use std::time::Duration;

use ranks_collectives::ops::{Avg, Max, Sum, UserOp};
use ranks_collectives::{
    Blocks, InPlaceCollectives, NonblockingCollectives, NonblockingInPlaceCollectives,
    PersistentInPlaceCollectives, ScopedInPlaceCollectives, VaryingCollectives,
};
use ranks_comm::{Communicator, ErrorKind, Persistent, Request, Result};

use crate::numbers::staircase;
use crate::still_works;

const ROUNDS: usize = 3;

const LONG: usize = if cfg!(miri) { 20 } else { 700 };
const LONGEST: usize = if cfg!(miri) { 50 } else { 20_000 };

/// Elements of this rank, others in each round.
fn elements(world: &Communicator, round: usize, length: usize) -> Vec<i64> {
    let first = (1_000_000 * round + 10_000 * world.rank()) as i64;
    (first..).take(length).collect()
}

/// Does the operation in each form, all of them in flight at once, and compares `significant` of
/// what they leave with what the blocking form does.
macro_rules! same {
    ($world:ident, $length:expr, $significant:expr,
     $blocking:ident($($with:expr),*), $nonblocking:ident, $init:ident($($argument:expr),*)) => {{
        let (length, significant): (usize, Range<usize>) = ($length, $significant);
        let mut persistent = $world.$init(vec![0; length], $($argument),*)?;
        for round in 0..ROUNDS {
            let data = || elements($world, round, length);
            let mut expected = data();
            $world.$blocking(&mut expected, $($with),*)?;

            persistent.buffer_mut().copy_from_slice(&data());
            let active = persistent.start()?;
            let request = $world.$nonblocking(data(), $($argument),*)?;
            let mut scoped = data();
            $world.scope(|scope| {
                scope.$nonblocking(&mut scoped, $($argument),*)?;
                Result::Ok(())
            })?;
            let (owned, _) = request.wait()?;
            (persistent, _) = active.wait()?;
            let name = stringify!($blocking);
            let expected = &expected[significant.clone()];
            assert_eq!(owned[significant.clone()], *expected, "{name}, nonblocking");
            assert_eq!(scoped[significant.clone()], *expected, "{name}, scoped");
            let started = &persistent.buffer()[significant.clone()];
            assert_eq!(started, expected, "{name}, persistent, round {round}");
        }
        persistent.free()?;
    }};
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn reductions_are_those_of_the_blocking_form(world: Communicator) -> Result<()> {
    let (world, me, size) = (&world, world.rank(), world.size());
    for length in [0, 1, LONG, LONGEST] {
        let all = || 0..length;
        for root in 0..size {
            same!(
                world,
                length,
                all(),
                reduce_in_place(Sum, root),
                ireduce_in_place,
                reduce_in_place_init(Sum, root)
            );
        }
        same!(
            world,
            length,
            all(),
            allreduce_in_place(Max),
            iallreduce_in_place,
            allreduce_in_place_init(Max)
        );
        same!(
            world,
            length,
            all(),
            scan_in_place(Sum),
            iscan_in_place,
            scan_in_place_init(Sum)
        );
        same!(
            world,
            length,
            all(),
            exscan_in_place(Sum),
            iexscan_in_place,
            exscan_in_place_init(Sum)
        );
        same!(
            world,
            length * size,
            0..length,
            reduce_scatter_block_in_place(Sum),
            ireduce_scatter_block_in_place,
            reduce_scatter_block_in_place_init(Sum)
        );
    }
    let (_, blocks) = staircase(size);
    same!(
        world,
        blocks.end(),
        0..me,
        reduce_scatter_in_place(&blocks, Sum),
        ireduce_scatter_in_place,
        reduce_scatter_in_place_init(Sum, &blocks)
    );
    still_works(world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn moves_are_those_of_the_blocking_form(world: Communicator) -> Result<()> {
    let (world, me, size) = (&world, world.rank(), world.size());
    for length in [0, 1, LONG, LONGEST] {
        let whole = length * size;
        for root in 0..size {
            let here = if me == root { whole } else { length };
            same!(
                world,
                here,
                0..here,
                gather_in_place(root),
                igather_in_place,
                gather_in_place_init(root)
            );
            same!(
                world,
                here,
                0..here,
                scatter_in_place(root),
                iscatter_in_place,
                scatter_in_place_init(root)
            );
        }
        same!(
            world,
            whole,
            0..whole,
            allgather_in_place(),
            iallgather_in_place,
            allgather_in_place_init()
        );
        same!(
            world,
            whole,
            0..whole,
            alltoall_in_place(),
            ialltoall_in_place,
            alltoall_in_place_init()
        );
    }
    still_works(world)
}

/// Rank r has r elements, the first none, and one lies between each two blocks.
#[ranks_test::ranks(1, 2, 3, 4)]
fn uneven_moves_are_those_of_the_blocking_form(world: Communicator) -> Result<()> {
    let (world, me, size) = (&world, world.rank(), world.size());
    let counts: Vec<usize> = (0..size).collect();
    let starts: Vec<usize> = (0..size).map(|rank| rank * (rank + 1) / 2).collect();
    let blocks = Blocks::new(&counts, &starts)?;
    let whole = blocks.end();
    for root in 0..size {
        let here = if me == root { whole } else { me };
        same!(
            world,
            here,
            0..here,
            gatherv_in_place(&blocks, root),
            igatherv_in_place,
            gatherv_in_place_init(&blocks, root)
        );
        same!(
            world,
            here,
            0..here,
            scatterv_in_place(&blocks, root),
            iscatterv_in_place,
            scatterv_in_place_init(&blocks, root)
        );
    }
    same!(
        world,
        whole,
        0..whole,
        allgatherv_in_place(&blocks),
        iallgatherv_in_place,
        allgatherv_in_place_init(&blocks)
    );
    // What ranks i and j send each other is as long as the higher of them says, and nothing for
    // itself.
    let counts: Vec<usize> = (0..size)
        .map(|rank| if rank == me { 0 } else { rank.max(me) })
        .collect();
    let among = Blocks::from_counts(&counts)?;
    let whole = among.end();
    same!(
        world,
        whole,
        0..whole,
        alltoallv_in_place(&among),
        ialltoallv_in_place,
        alltoallv_in_place_init(&among)
    );
    still_works(world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn averages_and_operations_of_the_program(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let mean = (size + 1) as f64 / 2.0;
    let mine = (me + 1) as f64;
    assert_eq!(
        world.iallreduce_in_place(vec![mine; 5], Avg)?.wait()?.0,
        [mean; 5]
    );
    let (shares, _) = world
        .ireduce_scatter_block_in_place(vec![mine; 2 * size], Avg)?
        .wait()?;
    assert_eq!(shares[..2], [mean; 2]);
    let mut average = world.allreduce_in_place_init(vec![0.0; 5], Avg)?;
    for round in 1..=ROUNDS {
        average.buffer_mut().fill(mine * round as f64);
        (average, _) = average.start()?.wait()?;
        assert_eq!(average.buffer(), [mean * round as f64; 5]);
    }
    // The later of two: associative, and does not commute.
    let last = UserOp::new(|_: u32, later: u32| later);
    for root in 0..size {
        let (left, _) = world
            .ireduce_in_place(vec![me as u32; 3], last, root)?
            .wait()?;
        let expected = if me == root { size - 1 } else { me };
        assert_eq!(left, [expected as u32; 3]);
    }
    still_works(&world)
}

/// A library may read what is sent until the operation is complete: where that is a copy, it is
/// still there.
#[ranks_test::ranks(2, 3, 4)]
fn the_contribution_of_a_root_that_begins_early_stays(world: Communicator) -> Result<()> {
    const LENGTH: usize = if cfg!(miri) { 100 } else { 100_000 };
    let (me, size) = (world.rank(), world.size());
    let sum = UserOp::commutative(|a: u64, b: u64| a.wrapping_add(b));
    for root in 0..size {
        let mine = vec![1_u64 << me; LENGTH];
        let request = if me == root {
            let request = world.ireduce_in_place(mine, sum, root)?;
            let others: Vec<_> = (0..8).map(|_| vec![u64::MAX; LENGTH]).collect();
            for rank in (0..size).filter(|&rank| rank != root) {
                world.send(&[others.len()], rank, 0)?;
            }
            request
        } else {
            world.recv(&mut [0_usize], root, 0)?;
            world.ireduce_in_place(mine, sum, root)?
        };
        let expected = if me == root { (1 << size) - 1 } else { 1 << me };
        assert_eq!(request.wait()?.0, vec![expected; LENGTH], "root {root}");
    }
    still_works(&world)
}

#[ranks_test::ranks(2, 3, 4)]
fn a_root_is_in_place_under_a_time_limit(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    for root in 0..size {
        let mut data = [me + 1; 100];
        let limit = Duration::from_secs(30);
        world.within(limit, |world| world.reduce_in_place(&mut data, Sum, root))?;
        let expected = if me == root {
            size * (size + 1) / 2
        } else {
            me + 1
        };
        assert_eq!(data, [expected; 100], "root {root}");
    }
    still_works(&world)
}

/// Where a rank is not the root both forms mean the same, as long as the operation is not prepared.
#[ranks_test::ranks(2, 3, 4)]
fn the_root_alone_is_in_place(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    for root in 0..size {
        let sum = if me == root {
            world.ireduce_in_place(vec![me; 4], Sum, root)?.wait()?.0
        } else {
            let ((send, _), _) = world.ireduce(vec![me; 4], Vec::new(), Sum, root)?.wait()?;
            send
        };
        let expected = if me == root {
            size * (size - 1) / 2
        } else {
            me
        };
        assert_eq!(sum, [expected; 4]);
    }
    still_works(&world)
}

/// As S3 of another binding: a buffer that cannot be cut into blocks, and a root that is not there.
#[ranks_test::ranks(2, 3, 4)]
fn s3_buffers_that_do_not_divide(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let odd = || vec![0; size + 1];
    let begun: [Result<Request<Vec<i32>>>; 4] = [
        world.igather_in_place(odd(), me),
        world.iscatter_in_place(odd(), me),
        world.iallgather_in_place(odd()),
        world.ialltoall_in_place(odd()),
    ];
    for request in begun {
        assert_eq!(
            request.err().map(|error| error.kind()),
            Some(ErrorKind::Length)
        );
    }
    let prepared: [Result<Persistent<Vec<i32>>>; 3] = [
        world.allgather_in_place_init(odd()),
        world.alltoall_in_place_init(odd()),
        world.reduce_scatter_block_in_place_init(odd(), Sum),
    ];
    for request in prepared {
        assert_eq!(
            request.err().map(|error| error.kind()),
            Some(ErrorKind::Length)
        );
    }
    let rootless = [
        world.ireduce_in_place(odd(), Sum, size),
        world.igather_in_place(odd(), size),
        world.iscatter_in_place(odd(), usize::MAX),
    ];
    for request in rootless {
        assert_eq!(
            request.err().map(|error| error.kind()),
            Some(ErrorKind::Root)
        );
    }
    still_works(&world)
}
