//! Pauses of a thread that waits for a device, without keeping a core from others.

use std::time::{Duration, Instant};

/// Time within which short work is complete; longer work may be seen a little later.
const BUSY: Duration = Duration::from_millis(1);
const NAP: Duration = Duration::from_micros(50);

/// The pauses between two looks.
#[derive(Debug)]
pub(crate) struct Pause {
    began: Instant,
}

impl Pause {
    pub(crate) fn new() -> Self {
        Pause {
            began: Instant::now(),
        }
    }

    /// Time since the wait began.
    pub(crate) fn waited(&self) -> Duration {
        self.began.elapsed()
    }

    /// Lets others run.
    pub(crate) fn wait(&mut self) {
        if self.waited() < BUSY {
            std::thread::yield_now();
        } else {
            std::thread::sleep(NAP);
        }
    }
}
