//! Mistakes are errors before anything is done.

use std::fmt::Debug;
use std::time::Duration;

use ranks_collectives::ops::Sum;
use ranks_comm::{Backend, Checks, Communicator, Error, ErrorKind, Result, Runtime};
use ranks_rma_window::LockKind::{Exclusive, Shared};
use ranks_rma_window::{DynamicWindow, SharedWindow, Window};

/// The kind of an error, whose text has all of `words`.
fn kind_of<R: Debug>(outcome: Result<R>, words: &[&str]) -> ErrorKind {
    let error = outcome.unwrap_err();
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{text}");
    }
    error.kind()
}

#[ranks_test::ranks(1, 2)]
fn places_that_are_not_there(world: Communicator) -> Result<()> {
    let (size, len) = (world.size(), 5 + world.rank());
    let mut fenced = Window::<f64>::allocate(&world, len)?.fence()?;
    let (data, mut buf) = ([1.0; 3], [0.0; 6]);
    fenced.step(|ops| {
        let words = ["MPI_Put", "3 elements from 3 on", "rank 0", "5 elements"];
        assert_eq!(kind_of(ops.put(&data, 0, 3), &words), ErrorKind::Length);
        assert_eq!(
            kind_of(ops.put(&data, 0, usize::MAX), &[]),
            ErrorKind::Length
        );
        assert_eq!(kind_of(ops.put(&data[..0], 0, 6), &[]), ErrorKind::Length);
        assert_eq!(
            kind_of(ops.get(&mut buf, 0, 0), &["MPI_Get"]),
            ErrorKind::Length
        );
        let none = kind_of(ops.put(&data, size, 0), &["rank", "from 0 to"]);
        assert_eq!(none, ErrorKind::Rank);
        let none = kind_of(ops.put(&data, usize::MAX, 0), &[]);
        assert_eq!(none, ErrorKind::Rank);
        assert_eq!(
            kind_of(ops.accumulate(&data, Sum, 0, 3), &[]),
            ErrorKind::Length
        );
        ops.put(&data[..0], 0, 5)
    })?;
    assert_eq!(kind_of(fenced.value(len), &[]), ErrorKind::Length);
    assert_eq!(
        kind_of(fenced.write(len - 1, &[0.0; 2]), &[]),
        ErrorKind::Length
    );
    assert_eq!(
        kind_of(fenced.read(1, &mut vec![0.0; len]), &[]),
        ErrorKind::Length
    );
    let window = fenced.close()?;
    assert_eq!(window.local(), vec![0.0; len]);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn under_a_lock_too(world: Communicator) -> Result<()> {
    let size = world.size();
    let window = Window::<i32>::allocate(&world, 2)?.passive()?;
    let locked = window.lock_all()?;
    assert_eq!(kind_of(locked.put(&[1; 3], 0, 0), &[]), ErrorKind::Length);
    assert_eq!(kind_of(locked.get(&mut [1], 0, 2), &[]), ErrorKind::Length);
    assert_eq!(
        kind_of(locked.fetch_and_op(1, Sum, 0, 2), &[]),
        ErrorKind::Length
    );
    assert_eq!(
        kind_of(locked.compare_and_swap(0, 1, 0, 2), &[]),
        ErrorKind::Length
    );
    assert_eq!(
        kind_of(locked.fetch_and_op(1, Sum, size, 0), &[]),
        ErrorKind::Rank
    );
    assert_eq!(kind_of(locked.flush(size), &[]), ErrorKind::Rank);
    let differ = locked.get_accumulate(&[1; 2], &mut [0], Sum, 0, 0);
    assert_eq!(
        kind_of(differ, &["2 elements", "room for 1"]),
        ErrorKind::Length
    );
    drop(locked);
    assert_eq!(window.close()?.local(), [0; 2]);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn locks_of_nobody_and_of_who_is_locked(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let window = Window::<u8>::allocate(&world, 1)?.passive()?;
    for none in [size, usize::MAX] {
        let words = ["MPI_Win_lock", "not in this window", "from 0 to"];
        assert_eq!(kind_of(window.lock(Shared, none), &words), ErrorKind::Rank);
    }
    let first = window.lock(Shared, rank)?;
    let words = ["MPI_Win_lock", "unlock it first"];
    assert_eq!(
        kind_of(window.lock(Exclusive, rank), &words),
        ErrorKind::Argument
    );
    assert_eq!(
        kind_of(window.lock_all(), &["MPI_Win_lock_all"]),
        ErrorKind::Argument
    );
    first.unlock()?;
    let all = window.lock_all()?;
    assert_eq!(
        kind_of(window.lock(Shared, 0), &["all ranks"]),
        ErrorKind::Argument
    );
    assert_eq!(kind_of(window.lock_all(), &[]), ErrorKind::Argument);
    drop(all);
    window.lock(Exclusive, 0)?.unlock()?;
    window.close()?;
    Ok(())
}

#[ranks_test::ranks(2)]
fn ranks_that_are_not_locked(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let other = if left == right { rank } else { left };
    let window = Window::<u64>::allocate(&world, 1)?.passive()?;
    let locked = window.lock(Shared, right)?;
    let refused = locked.put(&[1], other, 0);
    let words = ["MPI_Put", &format!("open to rank {right} only")];
    assert_eq!(kind_of(refused, &words), ErrorKind::Argument);
    assert_eq!(
        kind_of(locked.fetch_and_op(1, Sum, other, 0), &[]),
        ErrorKind::Argument
    );
    assert_eq!(
        kind_of(locked.flush(other), &["not locked"]),
        ErrorKind::Argument
    );
    assert_eq!(kind_of(locked.flush_local(other), &[]), ErrorKind::Argument);
    let refused = locked.scope(|ops| ops.put(&[1], other, 0));
    assert_eq!(kind_of(refused, &[]), ErrorKind::Argument);
    // Two locks at a time of different ranks are fine.
    if size > 2 {
        window.lock(Shared, left)?.put(&[7], left, 0)?;
    }
    drop(locked);
    window.close()?;
    Ok(())
}

/// All ranks get the error, and can go on together.
#[ranks_test::ranks(1, 2)]
fn windows_that_cannot_be_made(world: Communicator) -> Result<()> {
    let last = world.rank() + 1 == world.size();
    let len = if last { usize::MAX / 4 } else { 1 };
    let words = ["MPI_Win_allocate", "more than memory can be"];
    assert_eq!(
        kind_of(Window::<u64>::allocate(&world, len), &words),
        ErrorKind::Length
    );
    let words = ["MPI_Win_allocate:"];
    let len = if last { 1 << 57 } else { 1 };
    let kind = kind_of(Window::<u64>::allocate(&world, len), &words);
    assert!(
        [ErrorKind::Memory, ErrorKind::Length].contains(&kind),
        "{kind}"
    );
    if world.size() > 1 {
        let words = ["different elements", "rank 0 of 4 bytes"];
        let outcome = match last {
            true => Window::<u32>::allocate(&world, 1).map(drop),
            false => Window::<f32>::allocate(&world, 1).map(drop),
        };
        assert_eq!(kind_of(outcome, &words), ErrorKind::Mismatch);
    }
    Window::<u32>::allocate(&world, 1)?.free()?;
    Ok(())
}

/// Ranks that are out of step all get an error, where calls are compared.
#[ranks_test::ranks(2)]
fn ranks_out_of_step(world: Communicator) -> Result<()> {
    let first = world.rank() == 0;
    let window = Window::<u32>::allocate(&world, 1)?;
    let words = ["rank 0 calls MPI_Win_fence", "Window::passive"];
    let outcome = match first {
        true => window.fence().map(drop),
        false => window.passive().map(drop),
    };
    assert_eq!(kind_of(outcome, &words), ErrorKind::Mismatch);
    let mut fenced = Window::<u32>::allocate(&world, 1)?.fence()?;
    let mut called = false;
    let outcome = match first {
        true => fenced.step(|_| {
            called = true;
            Ok(())
        }),
        false => fenced.close().map(drop),
    };
    assert_eq!(kind_of(outcome, &["MPI_Win_fence"]), ErrorKind::Mismatch);
    assert!(!called, "nothing is begun in a step that does not end");
    Ok(())
}

/// Ranks take a window to different states, in process, where they compare no calls.
fn apart(
    calls: impl Fn(Window<u32>, bool) -> Result<()> + Send + Sync,
    dynamic: impl Fn(DynamicWindow, bool) -> Result<()> + Send + Sync,
    words: [&str; 2],
) {
    for ranks in [2, 3] {
        let threads = Runtime::builder().backend(Backend::InProcess).ranks(ranks);
        let outcome = threads.checks(Checks::Local).run(|world| {
            let first = world.rank() == 0;
            let others = if ranks == 2 {
                "rank 1 calls"
            } else {
                "ranks 1 and 2 call"
            };
            let words = [
                format!("rank 0 calls {}", words[0]),
                format!("{others} {}", words[1]),
            ];
            let window = Window::<u32>::allocate(&world, 1)?;
            let words = words.each_ref().map(String::as_str);
            assert_eq!(kind_of(calls(window, first), &words), ErrorKind::Mismatch);
            let window = DynamicWindow::create(&world)?;
            assert_eq!(kind_of(dynamic(window, first), &words), ErrorKind::Mismatch);
            // All of them can go on together.
            let fenced = Window::<u32>::allocate(&world, 1)?.fence()?;
            fenced.close()?.passive()?.close()?.free().map(drop)
        });
        outcome.unwrap();
    }
}

/// Each went on in a state of its own.
#[test]
fn threads_that_compare_nothing_took_a_window_to_different_states() {
    apart(
        |window, first| match first {
            true => window.fence().map(drop),
            false => window.passive().map(drop),
        },
        |window, first| match first {
            true => window.fence().map(drop),
            false => window.passive().map(drop),
        },
        ["MPI_Win_fence", "Window::passive"],
    );
    apart(
        |window, first| match first {
            true => window.free().map(drop),
            false => window.fence().map(drop),
        },
        |window, first| match first {
            true => window.free().map(drop),
            false => window.fence().map(drop),
        },
        ["MPI_Win_free", "MPI_Win_fence"],
    );
}

/// The one had its memory, and the other an open window.
#[test]
fn a_thread_that_closed_a_window_alone_was_not_told() {
    let threads = Runtime::builder().backend(Backend::InProcess).ranks(2);
    let outcome = threads.checks(Checks::Local).run(|world| {
        let words = ["MPI_Win_fence;", "MPI_Win_fence(MPI_MODE_NOSUCCEED)"];
        for steps in [true, false] {
            let mut fenced = Window::<u32>::allocate(&world, 1)?.fence()?;
            let outcome = match (world.rank(), steps) {
                (1, _) => fenced.close().map(drop),
                (_, true) => fenced.step(|ops| ops.put(&[1], 1, 0)),
                (_, false) => fenced.fence(),
            };
            assert_eq!(kind_of(outcome, &words), ErrorKind::Mismatch);
        }
        Ok::<_, Error>(())
    });
    outcome.unwrap();
}

/// The error named the collective by which ranks tell each other of their parts.
#[test]
fn a_window_that_another_rank_makes_otherwise_is_an_error_of_its_own_call() {
    let threads = Runtime::builder().backend(Backend::InProcess).ranks(2);
    let threads = threads.time_limit(Duration::from_millis(200));
    let outcome = threads.checks(Checks::Local).run(|world| {
        let (outcome, call) = match world.rank() {
            0 => (
                Window::<u64>::allocate(&world, 3).map(drop),
                "MPI_Win_allocate: ",
            ),
            _ => (
                SharedWindow::<u64>::allocate(&world, 3).map(drop),
                "MPI_Win_allocate_shared: ",
            ),
        };
        let error = outcome.expect_err("the other rank is elsewhere");
        assert!(error.to_string().starts_with(call), "{error}");
        Ok::<_, Error>(())
    });
    outcome.unwrap();
}
