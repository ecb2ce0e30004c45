//! How a thread waits for a device without keeping a core from others.

use std::time::{Duration, Instant};

/// What is short is over within this; what is longer may be seen a little later.
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

    /// How long it has been waited for.
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
