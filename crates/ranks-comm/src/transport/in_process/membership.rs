//! One rank's place in the world.

use std::sync::{Arc, Mutex};

use ranks_trace::Home;

use super::world::World;
use crate::call::checks::{Checks, Comparing};
use crate::call::hold::Hold;
use crate::call::thread_guard::ThreadGuard;
use crate::call::thread_level::ThreadLevel;

/// One rank's place in the world; when its last holder drops it, the rank has ended.
#[derive(Debug)]
pub(crate) struct Membership {
    pub(crate) world: Arc<World>,
    pub(crate) rank: usize,
    pub(crate) gate: ThreadGuard,
    /// The size of the attached buffer of the rank.
    pub(crate) attached: Mutex<Option<usize>>,
    pub(crate) comparing: Comparing,
    _hold: Option<Hold>,
}

impl Membership {
    /// The place of `rank`, whose initialising thread is this one.
    pub(crate) fn new(
        world: Arc<World>,
        rank: usize,
        level: ThreadLevel,
        comparing: Comparing,
    ) -> Self {
        let gate = ThreadGuard::new();
        gate.set_level(level);
        Self {
            world,
            rank,
            gate,
            attached: Mutex::default(),
            comparing,
            _hold: comparing.hold(comparing.checks >= Checks::Collective),
        }
    }

    /// The rank that makes calls here.
    pub(crate) fn home(&self) -> Home {
        Home {
            world: self.world.number,
            rank: self.rank,
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.world.end(self.rank);
    }
}
