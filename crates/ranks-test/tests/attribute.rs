//! The attribute as a user has it: the tests that run, their numbers of ranks, and the types that
//! may be returned.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use ranks_comm::{Communicator, Result, ThreadLevel};

/// Sends a number round the ring and hears of the rank before.
fn ring(world: &Communicator) -> Result<u64> {
    let (rank, size) = (world.rank(), world.size());
    let mut heard = [u64::MAX];
    world.sendrecv(
        &[rank as u64],
        (rank + 1) % size,
        7,
        &mut heard,
        (rank + size - 1) % size,
        7,
    )?;
    Ok(heard[0])
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn every_rank_takes_part(world: Communicator) -> Result<()> {
    let before = (world.rank() + world.size() - 1) % world.size();
    assert_eq!(ring(&world)?, before as u64);
    Ok(())
}

#[ranks_test::ranks(3)]
fn nothing_may_be_returned(world: Communicator) {
    assert_eq!(world.size(), 3);
    assert!(world.rank() < 3);
}

#[ranks_test::ranks(2, timeout = 30)]
fn any_error_that_can_be_shown_may_be_returned(
    world: Communicator,
) -> std::result::Result<(), Box<dyn Error>> {
    let before = ring(&world)?;
    if before + world.rank() as u64 == 1 {
        Ok(())
    } else {
        Err(format!("heard of {before}").into())
    }
}

#[ranks_test::ranks(1, 2)]
async fn a_function_may_be_async(world: Communicator) -> Result<()> {
    let mut polled = 0;
    let twice = std::future::poll_fn(|_| {
        polled += 1;
        match polled {
            1 => Poll::Pending,
            _ => Poll::Ready(ring(&world)),
        }
    });
    let before = twice.await?;
    assert_eq!(
        before,
        ((world.rank() + world.size() - 1) % world.size()) as u64
    );
    Ok(())
}

#[ranks_test::ranks(2)]
#[should_panic(expected = "on every rank")]
fn every_rank_is_to_panic(world: Communicator) {
    panic!("rank {} of {}: on every rank", world.rank(), world.size());
}

#[ranks_test::ranks(1, 2, threads = funneled)]
fn the_thread_level_is_the_one_asked_for(world: Communicator) -> Result<()> {
    ring(&world)?;
    let elsewhere = std::thread::scope(|scope| scope.spawn(|| ring(&world)).join());
    let error = elsewhere.expect("the thread does not panic").unwrap_err();
    assert_eq!(error.kind(), ranks_comm::ErrorKind::WrongThread);
    assert!(ThreadLevel::Funneled < ThreadLevel::Multiple);
    Ok(())
}

#[ranks_test::ranks(2, threads = serialized)]
fn a_level_between_serves_several_threads_in_turn(world: Communicator) -> Result<()> {
    for _ in 0..3 {
        let before = std::thread::scope(|scope| scope.spawn(|| ring(&world)).join());
        assert_eq!(
            before.expect("the thread does not panic")?,
            1 - world.rank() as u64
        );
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, mpi_only)]
fn an_mpi_knows_of_its_launcher(world: Communicator) {
    assert!(ranks_launch::Environment::detect().launcher.is_some());
    assert_eq!(ranks_launch::Environment::detect().size, Some(world.size()));
}

#[ranks_test::ranks(2, in_process_only)]
fn ranks_in_process_are_threads_of_one_process(world: Communicator) -> Result<()> {
    let mut other = [0u32];
    let peer = 1 - world.rank();
    world.sendrecv(&[std::process::id()], peer, 0, &mut other, peer, 0)?;
    assert_eq!(other[0], std::process::id());
    Ok(())
}

const AROUND: &str = "of the module around it";

#[ranks_test::ranks(1, 2)]
#[case(1, 0.5)]
#[case(1000, f64::MAX)]
#[case::nothing(0, f64::NAN)]
fn cases_have_arguments_of_their_own(world: Communicator, n: usize, element: f64) -> Result<()> {
    let peer = world.size() - 1 - world.rank();
    let mut theirs = vec![0.0; n];
    world.sendrecv(&vec![element; n], peer, 0, &mut theirs, peer, 0)?;
    assert_eq!(theirs, vec![element; n]);
    Ok(())
}

#[ranks_test::ranks(2, in_process_only)]
#[case(AROUND.len(), str::len, AROUND)]
#[case::a_closure(2, |text: &str| text.split(' ').filter(|word| word.len() < 3).count(), "to be done")]
async fn an_argument_is_any_expression(
    _world: Communicator,
    expected: usize,
    count: fn(&str) -> usize,
    text: &str,
) {
    assert_eq!(count(text), expected);
}

static EVALUATED: AtomicU64 = AtomicU64::new(0);

#[ranks_test::ranks(2, in_process_only)]
#[case(EVALUATED.fetch_add(1, Ordering::Relaxed))]
fn each_rank_evaluates_the_arguments(world: Communicator, mine: u64) -> Result<()> {
    let (mut other, peer) = ([0], 1 - world.rank());
    world.sendrecv(&[mine], peer, 0, &mut other, peer, 0)?;
    assert_eq!(mine + other[0], 1);
    Ok(())
}

#[ranks_test::ranks(1)]
#[case("rank 0")]
#[case::the_size("of 1")]
#[should_panic(expected = "rank 0 of 1")]
fn every_case_is_to_panic(world: Communicator, part: &str) {
    let text = format!("rank {} of {}", world.rank(), world.size());
    assert!(!text.contains(part), "{text}");
}

#[test]
fn a_case_has_the_name_that_it_is_given_or_its_number() {
    let this_binary = std::env::current_exe().expect("the path of a running program");
    let mut list = std::process::Command::new(this_binary);
    let output = list.arg("--list").output().expect("this binary is run");
    let text = String::from_utf8_lossy(&output.stdout);
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("cases_have_arguments_of_their_own::"))
        .collect();
    let expected = [
        "case_1::np1: test",
        "case_1::np2: test",
        "case_2::np1: test",
        "case_2::np2: test",
        "nothing::np1: test",
        "nothing::np2: test",
    ];
    assert_eq!(names, expected);
}

/// Messages that a test leaves behind do not reach the next: each has a communicator of its own.
mod strays {
    use super::*;

    #[ranks_test::ranks(2)]
    fn a_leaves_a_message_behind(world: Communicator) -> Result<()> {
        if world.rank() == 0 {
            world.send(&[1u8], 1, 5)
        } else {
            Ok(())
        }
    }

    #[ranks_test::ranks(2)]
    fn b_does_not_find_it(world: Communicator) -> Result<()> {
        let stray = world.iprobe(0, 5)?;
        assert!(stray.is_none(), "{stray:?}");
        ring(&world).map(drop)
    }
}

/// Set for a run in which a panic has not the text that it is to have.
const ANOTHER_TEXT: &str = "ATTRIBUTE_TEST_ANOTHER_TEXT";

macro_rules! panics {
    ($name:ident, $ranks:literal, $expected:literal) => {
        #[ranks_test::ranks($ranks, in_process_only)]
        #[should_panic(expected = $expected)]
        fn $name(world: Communicator) {
            assert_eq!(world.size(), $ranks);
            let another = std::env::var_os(ANOTHER_TEXT).is_some();
            panic!("{}", if another { "another" } else { $expected });
        }
    };
}

panics!(a_macro_gives_ranks_and_text, 3, "as it should");

#[test]
fn the_text_that_a_macro_gives_is_looked_for() {
    let this = std::env::current_exe().expect("this binary");
    let mut run = std::process::Command::new(this);
    run.arg("a_macro_gives_ranks_and_text")
        .env(ANOTHER_TEXT, "1");
    let output = run.output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{told}");
    assert!(
        told.contains("`as it should` is not in the message"),
        "{told}"
    );
}
