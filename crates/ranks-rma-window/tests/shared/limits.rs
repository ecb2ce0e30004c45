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
    let (fenced, freed, concurrent, mut new) = (window()?, window()?, window()?, window()?);
    let old = window()?.fence()?;
    let last = node.size() - 1;
    if node.rank() == last {
        // They are there, and this rank does nothing with them.
        for rank in 0..last {
            node.recv(&mut [0u8], rank, 0)?;
        }
        new.mine_mut()[0] = 1;
        assert_eq!(old.mine(), [0]);
        return Ok(());
    }
    let late = |outcome: Result<()>| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(error.to_string().contains("SharedWindow::fence"), "{error}");
    };
    node.within(Duration::from_millis(200), |_| {
        late(fenced.fence().map(drop));
        late(freed.free());
        late(concurrent.concurrent().map(drop));
        late(new.fence_with(old).map(drop));
        Ok::<_, ranks_comm::Error>(())
    })?;
    node.send(&[1u8], last, 0)
}
