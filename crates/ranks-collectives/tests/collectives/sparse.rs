//! Messages to few ranks, of which the receivers do not know: exchange after exchange, with nothing
//! in between.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ranks_collectives::{Collectives, SparseExchange};
use ranks_comm::{Backend, Checks, Communicator, Error, ErrorKind, Result, Runtime, Source};

use crate::model::long;

/// The message number `number` of `source` in a round: for whom it is, and what; `None` if there
/// are no more.
fn message(round: usize, source: usize, number: usize, size: usize) -> Option<(usize, Vec<u64>)> {
    let mixed = (round * 31 + source * 7 + number * 3 + 1).wrapping_mul(0x9e37_79b1) >> 7;
    // Some ranks send nothing in a round, others several messages, to one rank or to themselves as
    // well.
    let many = (round * 5 + source * 3) % 4;
    // Some messages are of no elements, others more than libraries send before somebody receives.
    let length = [0, 1, 17, long(20_000)][mixed / 64 % 4];
    let content =
        (0..length).map(|index| (round * 1000 + source * 100 + number * 10 + index) as u64);
    (number < many).then(|| (mixed % size, content.collect()))
}

fn messages(round: usize, source: usize, size: usize) -> Vec<(usize, Vec<u64>)> {
    (0..)
        .map_while(|number| message(round, source, number, size))
        .collect()
}

fn rounds(world: &Communicator, rounds: usize) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let exchange = SparseExchange::new(world)?;
    let mut found = Vec::new();
    for round in 0..rounds {
        let mine = messages(round, me, size);
        found.push(exchange.alltoallv(mine.iter().map(|(dest, content)| (*dest, content)))?);
    }
    // Afterwards, so that ranks are as far apart in the rounds as they can be.
    for (round, found) in found.into_iter().enumerate() {
        let of = |source| {
            let mine = messages(round, source, size)
                .into_iter()
                .filter(|(dest, _)| *dest == me);
            mine.map(move |(_, content)| (source, content))
        };
        let expected: Vec<(usize, Vec<u64>)> = (0..size).flat_map(of).collect();
        assert!(found == expected, "round {round}");
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn every_message_arrives_in_its_round(world: Communicator) -> Result<()> {
    rounds(&world, if world.size() < 4 { 24 } else { 8 })
}

/// Where ranks do not wait for each other to compare their calls.
#[test]
fn so_it_is_on_eight_ranks() {
    Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(8)
        .checks(Checks::Local)
        .run(|world| rounds(&world, 50))
        .unwrap();
}

/// What the program itself sends waits meanwhile, and another exchange has another channel.
#[ranks_test::ranks(1, 2, 3, 4)]
fn other_messages_are_left_alone(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let (next, last) = ((me + 1) % size, (me + size - 1) % size);
    let sends = [0, 1].map(|tag| world.isend(vec![100 * me + tag as usize; 3], next, tag));
    let (one, other) = (SparseExchange::new(&world)?, SparseExchange::new(&world)?);
    for _ in 0..3 {
        assert_eq!(one.alltoallv([(next, [me])])?, [(last, vec![last])]);
        let nothing: [(usize, Vec<u8>); 0] = [];
        assert_eq!(other.alltoallv(nothing)?, []);
        assert_eq!(
            other.alltoallv([(0, [me as u8; 2])])?.len(),
            if me == 0 { size } else { 0 }
        );
    }
    drop(other);
    for tag in [0, 1] {
        let (found, _) = world.recv_vec::<usize>(Source::Any, tag)?;
        assert_eq!(found, [100 * last + tag as usize; 3]);
    }
    for send in sends {
        send?.wait()?;
    }
    world.barrier()
}

#[ranks_test::ranks(1, 2, 3)]
fn a_rank_that_does_not_exist_is_told_before_anything_is_sent(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let exchange = SparseExchange::new(&world)?;
    let dest = if me == 0 { size } else { 0 };
    let error = exchange.alltoallv([(dest, [1])]).unwrap_err();
    let expected = if me == 0 {
        ErrorKind::Rank
    } else {
        ErrorKind::Mismatch
    };
    assert_eq!(error.kind(), expected, "{error}");
    assert_eq!(exchange.alltoallv([(me, [2])])?, [(me, vec![2])]);
    Ok(())
}

#[test]
fn a_message_of_another_type_is_an_error_after_the_exchange() {
    Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(2)
        .checks(Checks::Local)
        .run(|world| -> Result<()> {
            let exchange = SparseExchange::new(&world)?;
            if world.rank() == 0 {
                assert_eq!(exchange.alltoallv([(1, [1u8, 2, 3])])?, []);
            } else {
                let error = exchange.alltoallv([(1, [1u16])]).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Type, "{error}");
            }
            let next = 1 - world.rank();
            assert_eq!(exchange.alltoallv([(next, [7])])?, [(next, vec![7])]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn an_exchange_to_which_a_rank_does_not_come_ends_at_the_time_limit() {
    const LIMIT: Duration = Duration::from_secs(1);
    for checks in [Checks::Local, Checks::Collective] {
        let told = AtomicUsize::new(0);
        let builder = Runtime::builder().backend(Backend::InProcess).ranks(3);
        let outcome = builder.checks(checks).time_limit(LIMIT).run(|world| {
            let exchange = SparseExchange::new(&world)?;
            if world.rank() == 2 {
                // In no operation until the others have been told.
                while told.load(Ordering::Relaxed) < 2 {
                    std::thread::sleep(Duration::from_millis(1));
                }
                return Ok(());
            }
            let error = exchange.alltoallv([(2, [1u8, 2])]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
            let text = error.to_string();
            let begin = format!(
                "SparseExchange::alltoallv: timed out after 1s (Builder::time_limit) on rank {} of 3 of ",
                world.rank()
            );
            assert!(text.starts_with(&begin), "{text}");
            assert!(text.ends_with("rank 2 (alive, in no operation)"), "{text}");
            let nothing: [(usize, [u8; 0]); 0] = [];
            let error = exchange.alltoallv(nothing).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
            assert!(error.to_string().contains("out of step"), "{error}");
            told.fetch_add(1, Ordering::Relaxed);
            Ok::<(), Error>(())
        });
        outcome.unwrap();
    }
}

/// Nobody is late: what is received under a limit is what is received without one.
#[ranks_test::ranks(1, 2, 3, 4)]
fn exchanges_under_a_time_limit_are_as_ever(world: Communicator) -> Result<()> {
    world.within(Duration::from_secs(600), |world| rounds(world, 20))
}
