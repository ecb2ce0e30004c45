//! The slots are in a window, and stay in one epoch: what is in them is replaced as a whole.

use ranks::prelude::*;
use ranks::rma::{Locked, Replace};

use super::{PATIENCE, Slots, waves};
use crate::prk::{Problem, wait_for};
use crate::report::timed;

/// The content of an empty slot: no value that a wave has.
const EMPTY: f64 = f64::NAN;

/// The last corner, on rank 0, and the seconds that it took.
pub(super) fn run(world: &Communicator, problem: Problem) -> Result<(f64, f64)> {
    let mut window = Window::allocate(world, problem.order)?;
    window.local_mut().fill(EMPTY);
    let window = window.passive()?;
    let epoch = window.lock_all()?;
    let slots = InWindow {
        epoch: &epoch,
        me: world.rank(),
    };
    let ended = timed(world, || waves(world.rank(), world.size(), problem, &slots))?;
    epoch.unlock()?;
    window.close()?.free()?;
    Ok(ended)
}

/// Slots of which each is changed by one operation at a time, whoever asks for it.
struct InWindow<'a> {
    epoch: &'a Locked<'a, f64>,
    me: usize,
}

impl Slots for InWindow<'_> {
    fn put(&self, value: f64, rank: usize, slot: usize) -> Result<()> {
        self.epoch.accumulate(&[value], Replace, rank, slot)
    }

    fn take(&self, slot: usize) -> Result<f64> {
        wait_for(PATIENCE, || {
            let found = self.epoch.fetch_and_op(EMPTY, Replace, self.me, slot)?;
            Ok(Some(found).filter(|found| !found.is_nan()))
        })
    }
}
