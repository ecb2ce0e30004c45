//! Back-off between polls.

use std::thread;
use std::time::{Duration, Instant};

use crate::result::Result;

/// Back-off between two polls: at first none, then yielding, then sleeping.
#[derive(Debug, Default)]
pub struct Pause(u32);

impl Pause {
    /// Polls until `is_over` returns `true` or `limit` has passed; returns which.
    pub(crate) fn until(
        limit: Duration,
        is_over: &mut dyn FnMut() -> Result<bool>,
    ) -> Result<bool> {
        let end = Instant::now().checked_add(limit);
        let mut pause = Self::default();
        while !is_over()? {
            if end.is_some_and(|end| Instant::now() >= end) {
                return Ok(false);
            }
            pause.rest();
        }
        Ok(true)
    }

    /// Passes the time until the next poll.
    pub fn rest(&mut self) {
        const SPINS: u32 = 16;
        const YIELDS: u32 = 4096;
        const SLEEP: Duration = Duration::from_micros(50);
        self.0 = self.0.saturating_add(1);
        if self.0 < SPINS {
            std::hint::spin_loop();
        } else if self.0 < YIELDS {
            thread::yield_now();
        } else {
            thread::sleep(SLEEP);
        }
    }
}
