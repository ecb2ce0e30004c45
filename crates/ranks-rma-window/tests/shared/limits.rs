//! A change of phase waits no longer than the time limit, and for nobody who has ended.

use std::mem;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use ranks_collectives::ops::Sum;
use ranks_comm::{Backend, Communicator, Error, ErrorKind, Result, Runtime};
use ranks_rma_window::{NodeArena, NodeShared, SharedWindow, Window};

use crate::giving_up::{
    a_call_on_what_ranks_have_that_one_gives_up_ends_for_all,
    a_call_that_a_rank_gives_up_ends_for_all,
};

/// A rank that never comes was waited for without an end, whatever the limit.
#[ranks_test::ranks(2, 3)]
fn a_phase_that_a_rank_never_comes_to_ends_at_the_time_limit(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    if node.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let window = || SharedWindow::<u64>::allocate(&node, 1);
    let (freed, mut new) = (window()?, window()?);
    let old = window()?.fence()?;
    if node.rank() > 0 {
        // They are there, and this rank does nothing with them.
        new.mine_mut()[0] = 1;
        node.recv(&mut [0u8], 0, 0)?;
        assert_eq!((old.mine(), freed.len_of(0)), (&[0][..], 1));
        return Ok(());
    }
    let late = |operation: &str, outcome: Result<()>| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(error.to_string().contains(operation), "{error}");
    };
    node.within(Duration::from_millis(200), |_| {
        late("SharedWindow::free", freed.free());
        late("SharedWindow::fence", new.fence_with(old).map(drop));
        Ok::<_, ranks_comm::Error>(())
    })?;
    (1..node.size()).try_for_each(|rank| node.send(&[1u8], rank, 0))
}

/// The limit of a communicator was not that of a window made of it, whose locks were waited for
/// without an end.
#[ranks_test::ranks(2)]
fn a_window_waits_as_long_as_the_communicator_that_it_is_made_of(
    world: Communicator,
) -> Result<()> {
    let node = world.split_shared(0)?;
    if node.size() < 2 {
        return Ok(());
    }
    // The window is made within it, too.
    node.set_time_limit(Some(Duration::from_secs(2)))?;
    let window = SharedWindow::<u64>::allocate(&node, 1)?.passive()?;
    node.set_time_limit(None)?;
    if node.rank() == 1 {
        let mut held = window.lock_exclusive(0)?;
        node.send(&[0u8], 0, 0)?;
        node.recv(&mut [0u8], 0, 0)?;
        held[0] += 1;
        return Ok(());
    }
    node.recv(&mut [0u8], 1, 0)?;
    let error = window.lock_exclusive(0).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    let text = error.to_string();
    assert!(
        text.contains(" of a window without a name; its target is rank 0;"),
        "{text}"
    );
    node.send(&[1u8], 1, 0)
}

/// The error of a rank that waits for rank 0, which keeps the window for ever: in process, where
/// ranks end one by one.
fn of_the_other(
    last: impl Fn(Communicator) -> Result<()> + Send + Sync,
    first: impl Fn(Communicator) -> Result<()> + Send + Sync,
) -> Error {
    let told = Mutex::new(None);
    let threads = Runtime::builder().backend(Backend::InProcess).ranks(2);
    let outcome = threads.run(|world| match world.rank() {
        0 => first(world),
        _ => {
            let error = last(world).unwrap_err();
            *told.lock().unwrap() = Some(error);
            Ok(())
        }
    });
    assert!(outcome.is_err(), "the window of rank 0 lives on");
    told.into_inner().unwrap().unwrap()
}

/// It was waited for without an end.
#[test]
fn a_rank_that_has_ended_comes_to_no_phase() {
    let error = of_the_other(
        |world| SharedWindow::<u64>::allocate(&world, 1)?.fence().map(drop),
        |world| {
            mem::forget(SharedWindow::<u64>::allocate(&world, 1)?);
            Ok(())
        },
    );
    assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
    let text = error.to_string();
    let expected = "SharedWindow::fence: rank 0 ended without doing its part";
    assert!(text.contains(expected), "{text}");
}

/// It was waited for without an end.
#[test]
fn a_rank_that_has_ended_leaves_no_lock() {
    for all in [false, true] {
        let error = of_the_other(
            |world| {
                let window = SharedWindow::<u64>::allocate(&world, 1)?.passive()?;
                world.recv(&mut [0u8], 0, 0)?;
                window.lock_exclusive(1).map(drop)
            },
            |world| {
                let window = SharedWindow::<u64>::allocate(&world, 1)?.passive()?;
                if all {
                    mem::forget(window.lock_all()?);
                } else {
                    mem::forget(window.lock_exclusive(1)?);
                }
                mem::forget(window);
                world.send(&[0u8], 1, 0)
            },
        );
        assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
        let text = error.to_string();
        let expected = "SharedWindow::lock_exclusive: rank 0 ended without doing its part";
        assert!(text.contains(expected), "{text}");
    }
}

/// A rank that has ended and holds no lock keeps nobody from one.
#[test]
fn a_rank_that_has_ended_without_a_lock_does_not_matter() {
    let threads = Runtime::builder().backend(Backend::InProcess).ranks(3);
    let seen = Mutex::new(0);
    let outcome = threads.run(|world| {
        let window = SharedWindow::<u64>::allocate(&world, 1)?.passive()?;
        match world.rank() {
            0 => mem::forget(window),
            1 => {
                let mut held = window.lock_exclusive(1)?;
                world.send(&[0u8], 2, 0)?;
                thread::sleep(Duration::from_millis(100));
                held[0] = 3;
            }
            _ => {
                world.recv(&mut [0u8], 1, 0)?;
                *seen.lock().unwrap() = window.lock_shared(1)?[0];
            }
        }
        Ok::<_, Error>(())
    });
    // The window of rank 0 lives on.
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::InUse);
    assert_eq!(seen.into_inner().unwrap(), 3);
}

/// The error named `MPI_Iprobe`, which nobody had called.
#[test]
fn a_rank_that_failed_is_told_of_by_the_call_that_waits_for_it() {
    let error = of_the_other(
        |world| SharedWindow::<u64>::allocate(&world, 1)?.fence().map(drop),
        |world| {
            mem::forget(SharedWindow::<u64>::allocate(&world, 1)?);
            world.send(&[1u8], 999, 0)
        },
    );
    assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("SharedWindow::fence: rank 0 of 2 failed: "),
        "{text}"
    );
    assert!(!text.contains("MPI_Iprobe"), "{text}");
}

#[test]
fn a_window_that_a_rank_gives_up_is_made_by_none() {
    a_call_that_a_rank_gives_up_ends_for_all(|comm| {
        SharedWindow::<u64>::allocate(comm, 1).map(drop)
    });
    a_call_that_a_rank_gives_up_ends_for_all(|comm| Window::<u64>::allocate(comm, 1).map(drop));
}

#[test]
fn what_a_node_shares_and_a_rank_gives_up_is_made_by_none() {
    a_call_that_a_rank_gives_up_ends_for_all(|comm| {
        NodeShared::<u64>::builder(comm)
            .from_root(1, 3, |out| out.fill(1))
            .map(drop)
    });
    a_call_that_a_rank_gives_up_ends_for_all(|comm| NodeArena::allocate(comm, 100).map(drop));
}

/// A rank that waited for one that came later waited without an end.
#[test]
fn a_phase_that_a_rank_gives_up_begins_for_none() {
    let window = |comm: &Communicator| SharedWindow::<u64>::allocate(comm, 1);
    a_call_on_what_ranks_have_that_one_gives_up_ends_for_all(window, |window| {
        window.fence().map(drop)
    });
    a_call_on_what_ranks_have_that_one_gives_up_ends_for_all(window, |window| {
        window.allreduce(Sum).map(drop)
    });
}

/// So it did at a fence, where calls are not compared.
#[test]
fn a_fence_that_a_rank_gives_up_ends_for_none() {
    let window = |comm: &Communicator| Window::<u64>::allocate(comm, 1);
    a_call_on_what_ranks_have_that_one_gives_up_ends_for_all(window, |window| {
        window.fence().map(drop)
    });
    let fenced = |comm: &Communicator| window(comm)?.fence();
    a_call_on_what_ranks_have_that_one_gives_up_ends_for_all(fenced, |mut window| window.fence());
    let passive = |comm: &Communicator| window(comm)?.passive();
    a_call_on_what_ranks_have_that_one_gives_up_ends_for_all(passive, |window| {
        window.close().map(drop)
    });
}
