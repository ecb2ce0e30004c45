//! A change of phase waits no longer than the time limit.

use std::time::Duration;

use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_rma_window::SharedWindow;

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
    let late = |outcome: Result<()>| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(error.to_string().contains("SharedWindow::fence"), "{error}");
    };
    node.within(Duration::from_millis(200), |_| {
        late(freed.free());
        late(new.fence_with(old).map(drop));
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
    node.send(&[1u8], 1, 0)
}
