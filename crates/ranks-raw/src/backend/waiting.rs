//! Waits of the host for a library or a device.

use std::process;
use std::thread;
use std::time::{Duration, Instant};

use ranks_comm::backend::last_words;

/// Looks at short intervals first: most of what is waited for is over soon.
const BUSY: u32 = 64;

/// The longest time between two looks, in microseconds.
const LONGEST: u32 = 500;

/// The start of a wait, and the time that it may last.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    limit: Option<(Duration, Instant)>,
    looks: u32,
}

impl Deadline {
    /// From now on for so long; for ever if there is no limit.
    pub fn after(limit: Option<Duration>) -> Self {
        let limit = limit.and_then(|limit| Some((limit, Instant::now().checked_add(limit)?)));
        Self { limit, looks: 0 }
    }

    /// Lets others run for a moment, longer and longer. `Some(limit)` when it is over.
    pub fn pause(&mut self) -> Option<Duration> {
        if let Some((limit, end)) = self.limit
            && Instant::now() >= end
        {
            return Some(limit);
        }
        self.looks = self.looks.saturating_add(1);
        if self.looks < BUSY {
            thread::yield_now();
        } else {
            thread::sleep(Duration::from_micros(u64::from(self.looks.min(LONGEST))));
        }
        None
    }
}

/// Waits until nothing works any more on memory that was lent until then. Where that takes longer
/// than `patience`, the process ends: the memory cannot be given back.
#[cold]
pub fn drain(patience: Duration, what: &str, mut is_over: impl FnMut() -> bool) {
    let mut deadline = Deadline::after(Some(patience));
    while !is_over() {
        if deadline.pause().is_some() {
            last_words(format_args!(
                "{what} is not over within {patience:?}; the process ends, because memory that a device works on \
                 cannot be given back"
            ));
            process::abort();
        }
    }
}
