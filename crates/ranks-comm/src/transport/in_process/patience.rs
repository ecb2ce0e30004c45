//! Looks of a wait before it sleeps.
//!
//! If each rank has a core, the other is likely to be a moment away, and sleeping and waking take
//! longer than that. If there are more ranks than cores, this one has to make room.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

/// The time for which a wait looks before it sleeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// On a core of its own; zero if it has none.
    spins: Duration,
}

/// A few times of what a virtual machine takes to wake a thread: ranks that wait for each other by
/// turns would go on to sleep by turns, once one of them has.
const SPINS: Duration = Duration::from_micros(200);
/// The number of looks between two at the clock.
const LOOKS: u32 = 64;
/// That of those with the core given to others in between.
const YIELDS: u32 = 4;

impl Patience {
    /// That of a rank of so many.
    pub(crate) fn of(ranks: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let spins = if ranks <= cores {
            SPINS
        } else {
            Duration::ZERO
        };
        Self { spins }
    }

    /// Looks, until it finds something or patience ends.
    #[inline]
    pub(crate) fn look<R>(self, mut look: impl FnMut() -> Option<R>) -> Option<R> {
        let mut begun = None;
        while !self.spins.is_zero() {
            for _ in 0..LOOKS {
                if let Some(found) = look() {
                    return Some(found);
                }
                hint::spin_loop();
            }
            if begun.get_or_insert_with(Instant::now).elapsed() >= self.spins {
                break;
            }
        }
        for _ in 0..YIELDS {
            if let Some(found) = look() {
                return Some(found);
            }
            thread::yield_now();
        }
        look()
    }
}
