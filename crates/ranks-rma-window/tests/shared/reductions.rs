//! Reductions of segments where they lie.

use std::sync::Mutex;

use ranks_collectives::ops::{Max, Sum, UserOp};
use ranks_collectives::{Collectives, InPlaceCollectives};
use ranks_comm::{Backend, Checks, Communicator, ErrorKind, Result, Runtime};
use ranks_rma_window::SharedWindow;

#[ranks_test::ranks(1, 2, 3, 4)]
fn the_segments_of_all_ranks_are_reduced_into_the_first(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    let (rank, size) = (node.rank(), node.size());
    let most = if cfg!(miri) { 1_100 } else { 100_000 };
    for length in [0, 1, 511, 512, 1_100, most] {
        let mut writing = SharedWindow::<i64>::allocate(&node, length)?;
        for round in 0..3 {
            let sample = |rank: usize, at: usize| (7 * rank + 3 * at + round) as i64;
            for (at, value) in writing.mine_mut().iter_mut().enumerate() {
                *value = sample(rank, at);
            }
            let reading = writing.allreduce(Sum)?;
            for (at, sum) in reading.segment(0).iter().enumerate() {
                assert_eq!(
                    *sum,
                    (0..size).map(|rank| sample(rank, at)).sum::<i64>(),
                    "{at}"
                );
            }
            for other in 1..size {
                let segment = reading.segment(other).iter().enumerate();
                assert!(
                    segment
                        .into_iter()
                        .all(|(at, value)| *value == sample(other, at))
                );
            }
            writing = reading.fence()?;
        }
        writing.free()?;
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 4)]
fn operands_are_combined_in_the_order_of_ranks(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    let mut window = SharedWindow::<u64>::allocate(&node, 1_030)?;
    window.mine_mut().fill(node.rank() as u64 + 1);
    let digits = UserOp::new(|left: u64, right: u64| 10 * left + right);
    let reading = window.allreduce(digits)?;
    let expected = (1..=node.size() as u64).fold(0, |left, right| 10 * left + right);
    assert!(reading.segment(0).iter().all(|value| *value == expected));
    reading.fence()?.free()
}

#[ranks_test::ranks(2, 3)]
fn segments_of_different_lengths_are_an_error_of_all(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    if node.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let window = SharedWindow::<f64>::allocate(&node, 3 + usize::from(node.rank() == 1))?;
    let error = window.allreduce(Max).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length);
    let text = error.to_string();
    assert!(
        text.contains("rank 0 has 3 elements, that of rank 1 4"),
        "{text}"
    );
    node.barrier()
}

#[ranks_test::ranks(2, 3)]
fn ranks_that_do_something_else_are_named(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    if node.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let window = SharedWindow::<f64>::allocate(&node, 3)?;
    let outcome = match node.rank() {
        0 => window.fence().map(drop),
        _ => window.allreduce(Sum).map(drop),
    };
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let text = error.to_string();
    assert!(
        text.contains("a reduction") && text.contains("the phase Read"),
        "{text}"
    );
    let mut all = [1];
    node.allreduce_in_place(&mut all, Sum)?;
    assert_eq!(all, [node.size()]);
    Ok(())
}

#[test]
fn different_operations_are_told_where_calls_are_compared() {
    let builder = Runtime::builder().backend(Backend::InProcess).ranks(2);
    let outcome = builder.checks(Checks::Collective).run(|world| {
        let window = SharedWindow::<f64>::allocate(&world, 3)?;
        match world.rank() {
            0 => window.allreduce(Sum).map(drop),
            _ => window.allreduce(Max).map(drop),
        }
    });
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Mismatch);
}

#[ranks_test::ranks(1, 2, 3)]
fn a_closure_that_panics_or_communicates_is_an_error(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    let window = SharedWindow::<u64>::allocate(&node, 4)?;
    let refused = Mutex::new(Vec::new());
    let speaks = UserOp::new(|left: u64, right: u64| {
        let sent = node.isend(vec![1u8], 0, 0).map(drop);
        refused.lock().unwrap().push(sent.unwrap_err().kind());
        left + right
    });
    let reading = window.allreduce(speaks)?;
    let refused = refused.into_inner().unwrap();
    assert!(refused.iter().all(|kind| *kind == ErrorKind::WrongThread));
    // The first page is the stripe of rank 0.
    assert_eq!(refused.is_empty(), node.size() == 1 || node.rank() > 0);

    let fails = UserOp::new(|_: u64, _: u64| -> u64 { panic!("no sum") });
    let outcome = reading.fence()?.allreduce(fails).map(drop);
    if node.rank() > 0 {
        let told = outcome.as_ref().unwrap_err().to_string();
        assert!(told.contains("rank 0 has failed in a reduction"), "{told}");
    }
    let kind = outcome.map_err(|error| error.kind());
    let expected = match node.rank() {
        _ if node.size() == 1 => Ok(()),
        0 => Err(ErrorKind::Argument),
        _ => Err(ErrorKind::PeerFailed),
    };
    assert_eq!(kind, expected);
    node.barrier()
}
