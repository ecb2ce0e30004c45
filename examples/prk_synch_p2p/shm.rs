//! The slots are atomics that the ranks of a node share.

use std::sync::atomic::Ordering;

use ranks::phase::Concurrent;
use ranks::prelude::*;

use super::{PATIENCE, Slots, waves};
use crate::prk::{Problem, wait_for};
use crate::report::timed;

/// The content of an empty slot: the bits of no value that a wave has.
const EMPTY: u64 = f64::NAN.to_bits();

/// The last corner, on rank 0, and the seconds that it took.
pub(super) fn run(world: &Communicator, problem: Problem) -> Result<(f64, f64)> {
    let mut window = SharedWindow::allocate(world, problem.order)?;
    window.mine_mut().fill(EMPTY);
    let window = window.concurrent()?;
    let slots = InSegments {
        window: &window,
        me: world.rank(),
    };
    let ended = timed(world, || waves(world.rank(), world.size(), problem, &slots))?;
    window.fence()?.free()?;
    Ok(ended)
}

/// Slots that are loaded and stored. With a value comes the news that all slots before it have been
/// emptied.
struct InSegments<'a> {
    window: &'a SharedWindow<u64, Concurrent>,
    me: usize,
}

impl Slots for InSegments<'_> {
    fn put(&self, value: f64, rank: usize, slot: usize) -> Result<()> {
        self.window.segment(rank)[slot].store(value.to_bits(), Ordering::Release);
        Ok(())
    }

    fn take(&self, slot: usize) -> Result<f64> {
        let slot = &self.window.segment(self.me)[slot];
        let found = wait_for(PATIENCE, || {
            Ok(Some(slot.load(Ordering::Acquire)).filter(|&found| found != EMPTY))
        })?;
        slot.store(EMPTY, Ordering::Relaxed);
        Ok(f64::from_bits(found))
    }
}
