//! Looks of a wait before it sleeps.
//!
//! If each rank has a core, the other is likely to be a moment away, and sleeping and waking take
//! longer than that. If there are more ranks than cores, this one has to make room.

use std::cell::Cell;
use std::hint;
use std::thread;
use std::time::{Duration, Instant};

/// The looks of a wait before it sleeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// The number of looks before the core is offered to others.
    looks: u32,
    /// The time for which it goes on.
    time: Duration,
}

/// A few times of what a virtual machine takes to wake a thread: ranks that wait for each other by
/// turns would go on to sleep by turns, once one of them has.
const TIME: Duration = Duration::from_micros(200);
/// The least number of offers of the core.
const YIELDS: u32 = 4;
/// More than an offer takes that nobody accepts.
const ACCEPTED: Duration = Duration::from_micros(2);
/// The number of offers that are accepted for each that ends a wait's looks.
const SHARED: u32 = 64;

thread_local! {
    /// The number of offers of this thread that were accepted.
    static OFFERS: Cell<u32> = const { Cell::new(0) };
}

/// Offers the core to other threads; returns `true` if it is shared for so long that this one
/// should sleep: the system may wake it on a core that is idle, but moves none that looks.
fn offer() -> bool {
    let before = Instant::now();
    thread::yield_now();
    if before.elapsed() < ACCEPTED {
        return false;
    }
    let offers = OFFERS.get().wrapping_add(1);
    OFFERS.set(offers);
    offers.is_multiple_of(SHARED)
}

impl Patience {
    /// That of a rank of so many.
    pub(crate) fn of(ranks: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let (looks, time) = if ranks <= cores {
            (64, TIME)
        } else {
            (1, Duration::ZERO)
        };
        Self { looks, time }
    }

    /// Looks, until it finds something or patience ends.
    #[inline]
    pub(crate) fn look<R>(self, mut look: impl FnMut() -> Option<R>) -> Option<R> {
        let mut begun = None;
        for yields in 0.. {
            for _ in 0..self.looks {
                if let Some(found) = look() {
                    return Some(found);
                }
                hint::spin_loop();
            }
            let is_over = begun.get_or_insert_with(Instant::now).elapsed() >= self.time;
            if is_over && yields >= YIELDS || offer() {
                break;
            }
        }
        look()
    }
}
