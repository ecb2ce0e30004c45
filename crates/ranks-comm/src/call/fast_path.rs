//! The fast path for calls of ordinary sizes, past the checks of a
//! [`ThreadGuard`](crate::call::thread_guard::ThreadGuard).

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::call::lock::lock;
use crate::call::thread_level::ThreadLevel;

/// The test for the fast path: one comparison that replaces the checks of a
/// [`ThreadGuard`](crate::call::thread_guard::ThreadGuard) for ordinary sizes.
///
/// It holds the number of items that a call may move without further checks: [`FastPath::ITEMS`]
/// while it is open, 0 while each call must be checked, as in a runtime that has ended. Larger
/// calls, and calls of no items, take the slow path through
/// [`ThreadGuard::enter`](crate::call::thread_guard::ThreadGuard::enter).
#[derive(Debug)]
pub(crate) struct FastPath {
    /// For any thread.
    anybody: AtomicUsize,
    /// For the thread that initialised.
    main: AtomicUsize,
    /// The state from which the two above follow.
    barrier: Mutex<Barrier>,
}

/// The state of the fast path.
#[derive(Debug)]
struct Barrier {
    /// `None` before it is opened, and after it is closed for good.
    level: Option<ThreadLevel>,
    /// The number of holders that need it closed.
    holds: usize,
}

/// Always closed: forces every call onto the slow path.
pub(crate) static CLOSED: FastPath = FastPath::new();

thread_local! {
    /// `true` on the thread that has initialised MPI.
    static IS_MAIN: Cell<bool> = const { Cell::new(false) };
}

impl FastPath {
    /// Half of what an `int` can count. A power of two, as [`takes_both`](Self::takes_both) needs.
    const ITEMS: usize = 1 << 30;

    pub(crate) const fn new() -> Self {
        Self {
            anybody: AtomicUsize::new(0),
            main: AtomicUsize::new(0),
            barrier: Mutex::new(Barrier {
                level: None,
                holds: 0,
            }),
        }
    }

    /// Opens it to threads that need no further check at `level`, on the thread that has
    /// initialised. For the one gate of MPI only, since a thread remembers that it is the
    /// initialising one, and not of which gate.
    pub(crate) fn open(&self, level: ThreadLevel) {
        IS_MAIN.set(true);
        self.change(|barrier| barrier.level = Some(level));
    }

    /// Closes it until the matching release.
    pub(crate) fn hold(&self) {
        self.change(|barrier| barrier.holds += 1);
    }

    /// Undoes one [`hold`](Self::hold).
    pub(crate) fn release(&self) {
        self.change(|barrier| barrier.holds = barrier.holds.saturating_sub(1));
    }

    /// Closes it permanently.
    pub(crate) fn close(&self) {
        self.change(|barrier| barrier.level = None);
    }

    fn change(&self, change: impl FnOnce(&mut Barrier)) {
        let mut barrier = lock(&self.barrier);
        change(&mut barrier);
        let (anybody, main) = match barrier.level.filter(|_| barrier.holds == 0) {
            None | Some(ThreadLevel::Serialized) => (0, 0),
            Some(ThreadLevel::Single | ThreadLevel::Funneled) => (0, Self::ITEMS),
            Some(ThreadLevel::Multiple) => (Self::ITEMS, Self::ITEMS),
        };
        self.anybody.store(anybody, Ordering::Relaxed);
        self.main.store(main, Ordering::Relaxed);
    }

    /// Returns `true` if this thread may move that many items, which are not 0, without further
    /// checks.
    #[inline(always)]
    #[must_use]
    pub(crate) fn takes(&self, items: usize) -> bool {
        // With 0 items this wraps to more than any thread may move.
        let less_one = items.wrapping_sub(1);
        less_one < self.anybody.load(Ordering::Relaxed)
            || (less_one < self.main.load(Ordering::Relaxed) && IS_MAIN.get())
    }

    /// As [`takes`](Self::takes), for two numbers of items.
    #[inline(always)]
    #[must_use]
    pub(crate) fn takes_both(&self, items: usize, others: usize) -> bool {
        self.takes(both_in_one(items, others))
    }
}

/// A number of items that may be moved if and only if both of these may.
///
/// Two numbers are below a power of two, or below 0, if and only if what their bits make together
/// is.
#[inline(always)]
fn both_in_one(items: usize, others: usize) -> usize {
    (items.wrapping_sub(1) | others.wrapping_sub(1)).wrapping_add(1)
}

const _: () = assert!(FastPath::ITEMS.is_power_of_two());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::thread_guard::ThreadGuard;

    #[test]
    fn the_express_way_is_for_the_threads_of_the_level_and_for_everyday_sizes() {
        static MULTIPLE: ThreadGuard = ThreadGuard::new();
        static FUNNELED: ThreadGuard = ThreadGuard::new();
        static SERIALIZED: ThreadGuard = ThreadGuard::new();
        let here = |gate: &'static ThreadGuard, items: usize| gate.fast_path.takes(items);
        let elsewhere = |gate, items| {
            std::thread::spawn(move || here(gate, items))
                .join()
                .unwrap()
        };
        assert!(!here(&MULTIPLE, 1), "not yet");
        MULTIPLE.fast_path.open(ThreadLevel::Multiple);
        FUNNELED.fast_path.open(ThreadLevel::Funneled);
        SERIALIZED.fast_path.open(ThreadLevel::Serialized);
        assert!(here(&MULTIPLE, 1) && elsewhere(&MULTIPLE, 1));
        assert!(here(&FUNNELED, 1) && !elsewhere(&FUNNELED, 1));
        assert!(!here(&SERIALIZED, 1) && !elsewhere(&SERIALIZED, 1));
        assert!(here(&MULTIPLE, 1 << 30) && !here(&MULTIPLE, (1 << 30) + 1));
        assert!(!here(&MULTIPLE, 0) && !here(&FUNNELED, 0));
        let both = |items, others| MULTIPLE.fast_path.takes_both(items, others);
        assert!(both(1, 1) && both(1 << 30, 1) && both(3, 1 << 30));
        assert!(!both(0, 1) && !both(1, 0) && !both(1, (1 << 30) + 1) && !both(usize::MAX, 1));
        MULTIPLE.fast_path.hold();
        MULTIPLE.fast_path.hold();
        MULTIPLE.fast_path.release();
        assert!(!here(&MULTIPLE, 1));
        MULTIPLE.fast_path.release();
        assert!(here(&MULTIPLE, 1));
        MULTIPLE.close();
        FUNNELED.close();
        assert!(!here(&MULTIPLE, 1) && !here(&FUNNELED, 1));
    }
}
