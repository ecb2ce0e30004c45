//! Collectives between two groups.

use ranks_collectives::ops::{Avg, Max, Sum, UserOp};
use ranks_collectives::{IntercommunicatorCollectives, RootGroup};
use ranks_comm::{Communicator, ErrorKind, Intercommunicator, Result};

use crate::in_process::without_comparing;
use crate::model::{Guarded, Particle, Sample, block, long};

/// Even and odd ranks. The numbers in the world of this rank's own group, and of the other one.
fn even_and_odd(world: &Communicator) -> Result<(Intercommunicator, [Vec<usize>; 2])> {
    let odd = world.rank() % 2;
    let part = world.split(Some(odd as i32), 0)?.unwrap();
    let between = part.intercomm_create(0, world, 1 - odd, 3)?;
    let members = |odd: usize| (odd..world.size()).step_by(2).collect();
    Ok((between, [members(odd), members(1 - odd)]))
}

/// From every rank of each group in turn.
fn bcasts<T: Sample>(world: &Communicator, length: usize) -> Result<()> {
    let (between, [ours, theirs]) = even_and_odd(world)?;
    let me = world.rank();
    for root in 0..world.size() {
        let mut data = Guarded::<T>::new(length);
        let sent = block::<T>(root, 0, length);
        if root == me {
            data.buffer().copy_from_slice(&sent);
            between.bcast(data.buffer(), RootGroup::This)?;
            data.expect(&sent, "bcast at the root");
        } else if let Some(rank) = theirs.iter().position(|&rank| rank == root) {
            between.bcast(data.buffer(), RootGroup::OfOtherGroup(rank))?;
            data.expect(&sent, "bcast to the other group");
        } else {
            assert!(ours.contains(&root));
            between.bcast(data.buffer(), RootGroup::OfThisGroup)?;
            data.expect_untouched("bcast in the root's group");
        }
    }
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn a_root_tells_the_other_group(world: Communicator) -> Result<()> {
    bcasts::<u8>(&world, 0)?;
    bcasts::<f64>(&world, 3)?;
    bcasts::<Particle>(&world, long(2000))?;
    bcasts::<()>(&world, 3)
}

/// Rank 0 of both groups was named, and neither was told apart.
#[test]
fn a_broadcast_of_another_length_names_the_group_of_each_rank() {
    without_comparing(|world| {
        let (between, _) = even_and_odd(world).unwrap();
        let outcome = match world.rank() {
            0 => between.bcast(&mut [1; 4], RootGroup::This),
            odd if odd % 2 == 1 => between.bcast(&mut [0; 40], RootGroup::OfOtherGroup(0)),
            _ => between.bcast(&mut [0; 4], RootGroup::OfThisGroup),
        };
        if world.rank() % 2 == 1 {
            let text = outcome.unwrap_err().to_string();
            let theirs = "rank 0 of the other group passed a block of 4 elements";
            assert!(text.contains(theirs), "{text}");
            assert!(text.contains("of this group one of 40"), "{text}");
        }
    });
}

#[ranks_test::ranks(2, 3, 4)]
fn each_group_gets_what_the_other_one_has(world: Communicator) -> Result<()> {
    let (between, [ours, theirs]) = even_and_odd(&world)?;
    let me = world.rank();
    for length in [0, 1, long(5000)] {
        let mine: Vec<f64> = block(me, 0, length);
        let sum = |ranks: &[usize], index| -> f64 {
            ranks.iter().map(|&rank| f64::sample(rank, index)).sum()
        };
        let sums: Vec<f64> = (0..length).map(|index| sum(&theirs, index)).collect();
        let mut recv = Guarded::<f64>::new(length);
        between.allreduce(&mine, recv.buffer(), Sum)?;
        recv.expect(&sums, "allreduce");
        let mut mean = Guarded::<f64>::new(length);
        between.allreduce(&mine, mean.buffer(), Avg)?;
        let means: Vec<f64> = sums.iter().map(|sum| sum / theirs.len() as f64).collect();
        mean.expect(&means, "allreduce to the mean");
    }
    let mut most = [0];
    between.allreduce(&[me], &mut most, Max)?;
    assert_eq!(most, [theirs[theirs.len() - 1]]);
    let mut own = [0];
    between.allreduce(
        &[me + 1],
        &mut own,
        UserOp::commutative(|a: usize, b| a * b),
    )?;
    assert_eq!(own, [theirs.iter().map(|rank| rank + 1).product::<usize>()]);

    // Each group sends blocks of its own length.
    let length = |rank: usize| [4, long(1500)][rank % 2];
    let whole = theirs.iter().flat_map(|&rank| block(rank, 0, length(rank)));
    let whole: Vec<u16> = whole.collect();
    let mut recv = Guarded::<u16>::new(whole.len());
    between.allgather(&block(me, 0, length(me)), recv.buffer())?;
    recv.expect(&whole, "allgather");
    // One group has nothing to say.
    let length = |rank: usize| [0, 3][rank % 2];
    let whole = theirs.iter().flat_map(|&rank| block(rank, 0, length(rank)));
    let whole: Vec<Particle> = whole.collect();
    let mut recv = Guarded::<Particle>::new(whole.len());
    between.allgather(&block(me, 0, length(me)), recv.buffer())?;
    recv.expect(&whole, "allgather of one group");
    assert_eq!(between.size(), ours.len());
    between.barrier()
}

#[ranks_test::ranks(2, 3, 4)]
fn a_barrier_takes_no_messages_and_leaves_none(world: Communicator) -> Result<()> {
    let (between, [_, theirs]) = even_and_odd(&world)?;
    for dest in 0..theirs.len() {
        between.send(&[world.rank()], dest, 0)?;
    }
    between.barrier()?;
    for (source, &rank) in theirs.iter().enumerate() {
        let mut from = [usize::MAX];
        between.recv(&mut from, source, 0)?;
        assert_eq!(from, [rank]);
    }
    between.barrier()
}

#[ranks_test::ranks(2, 3, 4)]
fn mistakes_between_groups_are_errors_before_anything_is_sent(world: Communicator) -> Result<()> {
    let (between, [_, theirs]) = even_and_odd(&world)?;
    let mut recv = Guarded::<i32>::new(2 * theirs.len() + 1);
    let kind = |outcome: Result<()>| outcome.unwrap_err().kind();
    let nobody = RootGroup::OfOtherGroup(theirs.len());
    assert_eq!(kind(between.bcast(recv.buffer(), nobody)), ErrorKind::Root);
    let far = RootGroup::OfOtherGroup(usize::MAX);
    assert_eq!(kind(between.bcast(recv.buffer(), far)), ErrorKind::Root);
    assert_eq!(
        kind(between.allreduce(&[1; 2], recv.buffer(), Sum)),
        ErrorKind::Length
    );
    if theirs.len() > 1 {
        assert_eq!(
            kind(between.allgather(&[1; 2], recv.buffer())),
            ErrorKind::Length
        );
    }
    recv.expect_untouched("calls with mistakes");
    between.barrier()
}
