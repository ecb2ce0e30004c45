//! Operations between two groups that return at once, or that are prepared.

use std::time::Duration;

use ranks_collectives::ops::{Avg, Sum, UserOp};
use ranks_collectives::{IntercommunicatorCollectives, RootGroup};
use ranks_comm::{Communicator, ErrorKind, Intercommunicator, Persistent, Request, Result};

use crate::{received, still_works};

const ROUNDS: u64 = 3;

const LONG: usize = if cfg!(miri) { 20 } else { 2000 };

/// Even and odd ranks, and the numbers in the world of those of the other group.
fn even_and_odd(world: &Communicator) -> Result<(Intercommunicator, Vec<usize>)> {
    let odd = world.rank() % 2;
    let part = world.split(Some(odd as i32), 0)?.unwrap();
    let between = part.intercomm_create(0, world, 1 - odd, 3)?;
    Ok((between, (1 - odd..world.size()).step_by(2).collect()))
}

/// What `rank` of the world sends in that round; odd ranks send less.
fn block(rank: usize, round: u64) -> Vec<u64> {
    let first = 1_000_000 * round + 1000 * rank as u64;
    (first..)
        .take([if cfg!(miri) { 10 } else { 700 }, 3][rank % 2])
        .collect()
}

/// The root as `me` has to see it.
fn root_as_seen(me: usize, root: usize) -> RootGroup {
    match (root == me, root % 2 == me % 2) {
        (true, _) => RootGroup::This,
        (false, true) => RootGroup::OfThisGroup,
        (false, false) => RootGroup::OfOtherGroup(root / 2),
    }
}

/// All of them in flight at once, several on the same intercommunicator.
#[ranks_test::ranks(2, 3, 4)]
fn each_group_gets_what_the_other_one_has(world: Communicator) -> Result<()> {
    let (between, theirs) = even_and_odd(&world)?;
    let (me, size) = (world.rank(), world.size());
    let gathered: Vec<u64> = theirs.iter().flat_map(|&rank| block(rank, 0)).collect();
    let allgather = between.iallgather(block(me, 0), vec![0; gathered.len()])?;
    let sum = between.iallreduce(vec![me + 1; 40], vec![0; 40], Sum)?;
    let mean = between.iallreduce(vec![me as f64], vec![0.0], Avg)?;
    let last = UserOp::new(|_: usize, later: usize| later);
    let last = between.iallreduce(vec![me], vec![size], last)?;
    let begin = |root| {
        let data = if me == root {
            vec![root; LONG]
        } else {
            vec![size; LONG]
        };
        between.ibcast(data, root_as_seen(me, root))
    };
    let bcasts: Vec<_> = (0..size).map(begin).collect::<Result<_>>()?;
    let barrier = between.ibarrier()?;

    barrier.wait()?;
    for (root, bcast) in bcasts.into_iter().enumerate().rev() {
        let expected = match root_as_seen(me, root) {
            RootGroup::OfThisGroup => size,
            RootGroup::This | RootGroup::OfOtherGroup(_) => root,
        };
        assert_eq!(bcast.wait()?.0, vec![expected; LONG], "root {root}");
    }
    assert_eq!(received(last)?, [theirs[theirs.len() - 1]]);
    let sum_of_ranks = theirs.iter().sum::<usize>();
    assert_eq!(received(mean)?, [sum_of_ranks as f64 / theirs.len() as f64]);
    assert_eq!(received(sum)?, [sum_of_ranks + theirs.len(); 40]);
    assert_eq!(received(allgather)?, gathered);
    still_works(&world)
}

#[ranks_test::ranks(2, 3, 4)]
fn what_is_prepared_sends_what_is_there_at_each_start(world: Communicator) -> Result<()> {
    let (between, theirs) = even_and_odd(&world)?;
    let (me, size) = (world.rank(), world.size());
    let length = block(me, 0).len();
    let room = theirs.len() * block(theirs[0], 0).len();
    let mut allgather = between.allgather_init(vec![0; length], vec![0; room])?;
    let mut mean = between.allreduce_init(vec![0.0; 3], vec![0.0; 3], Avg)?;
    let mut barrier = between.barrier_init()?;
    let prepare = |root| between.bcast_init(vec![0; 5], root_as_seen(me, root));
    let mut bcasts: Vec<_> = (0..size).map(prepare).collect::<Result<Vec<_>>>()?;
    assert!(allgather.communicator().is_none());
    for round in 0..ROUNDS {
        allgather.send_mut().copy_from_slice(&block(me, round));
        mean.send_mut().fill((me as u64 + round) as f64);
        for bcast in &mut bcasts {
            bcast.buffer_mut().fill(100 * round + me as u64);
        }
        // The groups start them in different orders.
        let started = if me.is_multiple_of(2) {
            let first = allgather.start()?;
            (mean.start()?, first)
        } else {
            (mean.start()?, allgather.start()?)
        };
        let under_way = Persistent::start_all(bcasts)?;
        (barrier, _) = barrier.start()?.wait()?;
        (mean, _) = started.0.wait()?;
        (allgather, _) = started.1.wait()?;
        bcasts = Vec::new();
        for (root, bcast) in under_way.into_iter().enumerate() {
            let (bcast, _) = bcast.wait()?;
            let from = match root_as_seen(me, root) {
                RootGroup::OfOtherGroup(_) => root,
                RootGroup::This | RootGroup::OfThisGroup => me,
            };
            assert_eq!(bcast.buffer(), [100 * round + from as u64; 5]);
            bcasts.push(bcast);
        }
        let gathered: Vec<u64> = theirs.iter().flat_map(|&rank| block(rank, round)).collect();
        assert_eq!(allgather.recv(), gathered);
        let sum: u64 = theirs.iter().map(|&rank| rank as u64 + round).sum();
        assert_eq!(mean.recv(), [sum as f64 / theirs.len() as f64; 3]);
    }
    still_works(&world)
}

#[ranks_test::ranks(2, 3)]
fn what_is_dropped_is_completed_by_the_runtime(world: Communicator) -> Result<()> {
    let (between, _) = even_and_odd(&world)?;
    drop(between.iallreduce(vec![1; 5000], vec![0; 5000], Sum)?);
    drop(
        between
            .allgather_init(vec![1_u8], vec![0_u8; between.remote_size()])?
            .start()?,
    );
    between.barrier()?;
    still_works(&world)
}

#[ranks_test::ranks(2, 3, 4)]
fn mistakes_between_groups_begin_nothing(world: Communicator) -> Result<()> {
    fn kind<B: Send + 'static>(begun: Result<Request<B>>) -> ErrorKind {
        begun.err().unwrap().kind()
    }
    let (between, theirs) = even_and_odd(&world)?;
    let nobody = RootGroup::OfOtherGroup(theirs.len());
    assert_eq!(kind(between.ibcast(vec![0; 3], nobody)), ErrorKind::Root);
    let unequal = between.iallreduce(vec![0; 3], vec![0; 4], Sum);
    assert_eq!(kind(unequal), ErrorKind::Length);
    let prepared = between.allreduce_init(vec![0; 3], vec![0; 4], Sum);
    assert_eq!(prepared.err().unwrap().kind(), ErrorKind::Length);
    if theirs.len() > 1 {
        let odd = between.iallgather(vec![0; 3], vec![0; 1 + 3 * theirs.len()]);
        assert_eq!(kind(odd), ErrorKind::Length);
    }
    between.barrier()?;
    still_works(&world)
}

/// One group alone waits no longer than it may, and what it sent is not taken for another
/// operation.
#[ranks_test::ranks(2, 3, 4)]
fn a_group_that_does_not_come_is_waited_for_until_the_limit(world: Communicator) -> Result<()> {
    let (between, theirs) = even_and_odd(&world)?;
    let mut room = vec![0; 3 * theirs.len()];
    if world.rank().is_multiple_of(2) {
        let late = world.within(Duration::from_millis(200), |_| {
            between.allgather(&[1; 3], &mut room)
        });
        assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
    } else {
        std::thread::sleep(Duration::from_millis(400));
        // The operation that was given up is still that of this communicator.
        let limit = Duration::from_secs(20);
        let gathered = world.within(limit, |_| between.allgather(&[2; 3], &mut room));
        gathered?;
        assert_eq!(room, vec![1; room.len()]);
    }
    still_works(&world)
}
