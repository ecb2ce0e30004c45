//! Looks of a wait before it sleeps.
//!
//! If each rank has a core, the other is likely to be a moment away, and sleeping and waking take
//! longer than that. If there are more ranks than cores, this one has to make room.

use std::thread;

/// The number of times that a wait looks before it sleeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// On a core of its own.
    spins: u32,
    /// With a core given to others in between.
    yields: u32,
}

impl Patience {
    /// That of a rank of so many.
    pub(crate) fn of(ranks: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        if ranks <= cores {
            Self {
                spins: 400,
                yields: 4,
            }
        } else {
            Self {
                spins: 0,
                yields: 4,
            }
        }
    }

    /// Looks, until it finds something or patience ends.
    #[inline]
    pub(crate) fn look<R>(self, mut look: impl FnMut() -> Option<R>) -> Option<R> {
        for _ in 0..self.spins {
            if let Some(found) = look() {
                return Some(found);
            }
            std::hint::spin_loop();
        }
        for _ in 0..self.yields {
            if let Some(found) = look() {
                return Some(found);
            }
            thread::yield_now();
        }
        look()
    }
}
