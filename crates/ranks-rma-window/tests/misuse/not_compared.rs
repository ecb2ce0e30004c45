//! Calls of two communicators, or of some ranks, which nothing compares with each other: they end
//! at the limit of comparisons, with an error that names what the other rank is in.

use std::sync::Mutex;
use std::time::Duration;

use ranks_collectives::Collectives;
use ranks_collectives::ops::Sum;
use ranks_comm::{Backend, Checks, Communicator, ErrorKind, Result, Runtime};
use ranks_rma_window::{SharedWindow, Window};

/// Has two ranks call what does not fit, each with two windows: who comes to the limit first is
/// told of both calls.
fn at_the_limit(
    both: &[&str],
    calls: impl Fn(&Communicator, Window<u64>, Window<u64>) -> Result<()> + Send + Sync,
) {
    let told = Mutex::new(Vec::new());
    let outcome = Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(2)
        .checks(Checks::Collective)
        .check_limit(Duration::from_millis(500))
        .run(|world| {
            let windows = [Window::allocate(&world, 1)?, Window::allocate(&world, 1)?];
            let [one, other] = windows;
            let outcome = calls(&world, one, other);
            if let Err(error) = &outcome
                && error.kind() == ErrorKind::TimedOut
            {
                told.lock().unwrap().push(error.to_string());
            }
            outcome
        });
    assert!(outcome.is_err(), "mistakes went through");
    let told = told.into_inner().unwrap();
    let parts = [&["RANKS_CHECK_LIMIT"], both].concat();
    let is_whole = |text: &String| parts.iter().all(|part| text.contains(part));
    assert!(told.iter().any(is_whole), "{parts:?} are not in {told:?}");
}

#[test]
fn a_fence_against_a_barrier_hung() {
    at_the_limit(
        &["MPI_Win_fence", "MPI_Barrier"],
        |world, one, _| match world.rank() {
            0 => one.fence().map(drop),
            _ => world.barrier(),
        },
    );
}

#[test]
fn fences_of_two_windows_in_different_order_hung() {
    at_the_limit(&["MPI_Win_fence"], |world, one, other| {
        let (first, second) = match world.rank() {
            0 => (one, other),
            _ => (other, one),
        };
        drop(first.fence()?);
        second.fence().map(drop)
    });
}

#[test]
fn steps_of_two_shared_windows_in_different_order_hung() {
    type Step = fn(SharedWindow<u64>) -> Result<()>;
    let steps: [(&str, Step); 5] = [
        ("SharedWindow::fence", |window| window.fence().map(drop)),
        ("SharedWindow::passive", |window| window.passive().map(drop)),
        ("SharedWindow::concurrent", |window| {
            window.concurrent().map(drop)
        }),
        ("SharedWindow::allreduce", |window| {
            window.allreduce(Sum).map(drop)
        }),
        ("SharedWindow::free", SharedWindow::free),
    ];
    for (name, step) in steps {
        at_the_limit(&[name], |world, _, _| {
            let one = SharedWindow::allocate(world, 1)?;
            let other = SharedWindow::allocate(world, 1)?;
            let (first, second) = match world.rank() {
                0 => (one, other),
                _ => (other, one),
            };
            step(first)?;
            step(second)
        });
    }
}

#[test]
fn a_start_against_a_fence_hung() {
    at_the_limit(
        &["MPI_Win_start", "MPI_Win_fence"],
        |world, mut one, _| match world.rank() {
            0 => one.start(&[1], |ops| ops.put(&[1], 1, 0)),
            _ => one.fence().map(drop),
        },
    );
}

#[test]
fn a_wait_against_the_end_of_the_window_hung() {
    at_the_limit(
        &["MPI_Win_wait", "MPI_Win_free"],
        |world, one, _| match world.rank() {
            0 => one.post(&[1])?.wait().map(drop),
            _ => one.free().map(drop),
        },
    );
}

#[test]
fn two_ranks_that_start_with_each_other_hung() {
    at_the_limit(&["MPI_Win_start"], |world, mut one, _| {
        let other = 1 - world.rank();
        one.start(&[other], |ops| ops.put(&[1], other, 0))
    });
}
