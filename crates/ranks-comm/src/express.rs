//! The way for calls of everyday sizes, past the questions of a [`Gate`](crate::gate::Gate).

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::thread_level::ThreadLevel;

/// The way past a [`Gate`](crate::gate::Gate) for calls of everyday sizes: one comparison that decides everything.
///
/// It holds how many items a call may move with no other question asked: [`Express::ITEMS`] while it is open, 0 while
/// each call must be looked at, as in a runtime that has ended. What is larger, or nothing at all, takes the way
/// through [`Gate::enter`](crate::gate::Gate::enter), which is for everybody.
#[derive(Debug)]
pub(crate) struct Express {
    /// For any thread.
    anybody: AtomicUsize,
    /// For the thread that initialised.
    main: AtomicUsize,
    /// What the two above follow from.
    barrier: Mutex<Barrier>,
}

/// Whether the way is open at all.
#[derive(Debug)]
struct Barrier {
    /// `None` before it is opened, and after it is closed for good.
    level: Option<ThreadLevel>,
    /// How many need it closed.
    holds: usize,
}

/// Never open: for what always needs a closer look.
pub(crate) static NO_EXPRESS: Express = Express::new();

thread_local! {
    /// Whether this thread has initialised MPI.
    static IS_MAIN: Cell<bool> = const { Cell::new(false) };
}

impl Express {
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

    /// Opens it at `level`, on the thread that has initialised.
    pub(crate) fn open(&self, level: ThreadLevel) {
        IS_MAIN.set(true);
        self.change(|barrier| barrier.level = Some(level));
    }

    /// Closes it for a while, as often as it is released again.
    pub(crate) fn hold(&self) {
        self.change(|barrier| barrier.holds += 1);
    }

    /// Undoes one [`hold`](Self::hold).
    pub(crate) fn release(&self) {
        self.change(|barrier| barrier.holds = barrier.holds.saturating_sub(1));
    }

    /// Closes it for good.
    pub(crate) fn close(&self) {
        self.change(|barrier| barrier.level = None);
    }

    fn change(&self, change: impl FnOnce(&mut Barrier)) {
        let mut barrier = self.barrier.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut barrier);
        let (anybody, main) = match barrier.level.filter(|_| barrier.holds == 0) {
            None | Some(ThreadLevel::Serialized) => (0, 0),
            Some(ThreadLevel::Single | ThreadLevel::Funneled) => (0, Self::ITEMS),
            Some(ThreadLevel::Multiple) => (Self::ITEMS, Self::ITEMS),
        };
        self.anybody.store(anybody, Ordering::Relaxed);
        self.main.store(main, Ordering::Relaxed);
    }

    /// Whether this thread may move that many items, which are not 0, with no further check.
    #[inline(always)]
    #[must_use]
    pub(crate) fn takes(&self, items: usize) -> bool {
        // Of 0 items there are now more than anybody may move.
        let less_one = items.wrapping_sub(1);
        less_one < self.anybody.load(Ordering::Relaxed)
            || (less_one < self.main.load(Ordering::Relaxed) && IS_MAIN.get())
    }

    /// The same for two numbers of items.
    #[inline(always)]
    #[must_use]
    pub(crate) fn takes_both(&self, items: usize, others: usize) -> bool {
        self.takes(both_in_one(items, others))
    }
}

/// A number of items that may be moved if and only if both of these may.
///
/// Two numbers are below a power of two, or below 0, if and only if what their bits make together is.
#[inline(always)]
fn both_in_one(items: usize, others: usize) -> usize {
    (items.wrapping_sub(1) | others.wrapping_sub(1)).wrapping_add(1)
}

const _: () = assert!(Express::ITEMS.is_power_of_two());

/// An [`Express`] as one thread may use it: what remains to be asked at each call is one number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane {
    limit: &'static AtomicUsize,
    /// It holds for the thread that it was made on.
    thread: PhantomData<*const ()>,
}

impl Express {
    /// The way for this thread.
    #[inline(always)]
    pub(crate) fn lane(&'static self) -> Lane {
        // Who has initialised may whatever anybody may.
        let limit = if IS_MAIN.get() {
            &self.main
        } else {
            &self.anybody
        };
        Lane {
            limit,
            thread: PhantomData,
        }
    }
}

impl Lane {
    /// As [`Express::takes`].
    #[inline(always)]
    pub(crate) fn takes(self, items: usize) -> bool {
        items.wrapping_sub(1) < self.limit.load(Ordering::Relaxed)
    }

    /// As [`Express::takes_both`].
    #[inline(always)]
    pub(crate) fn takes_both(self, items: usize, others: usize) -> bool {
        self.takes(both_in_one(items, others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Gate;

    #[test]
    fn the_express_way_is_for_the_threads_of_the_level_and_for_everyday_sizes() {
        static MULTIPLE: Gate = Gate::new();
        static FUNNELED: Gate = Gate::new();
        static SERIALIZED: Gate = Gate::new();
        let here = |gate: &'static Gate, items: usize| gate.express().takes(items);
        let elsewhere = |gate, items| {
            std::thread::spawn(move || here(gate, items))
                .join()
                .unwrap()
        };
        assert!(!here(&MULTIPLE, 1), "not yet");
        MULTIPLE.open_express(ThreadLevel::Multiple);
        FUNNELED.open_express(ThreadLevel::Funneled);
        SERIALIZED.open_express(ThreadLevel::Serialized);
        assert!(here(&MULTIPLE, 1) && elsewhere(&MULTIPLE, 1));
        assert!(here(&FUNNELED, 1) && !elsewhere(&FUNNELED, 1));
        assert!(!here(&SERIALIZED, 1) && !elsewhere(&SERIALIZED, 1));
        assert!(here(&MULTIPLE, 1 << 30) && !here(&MULTIPLE, (1 << 30) + 1));
        assert!(!here(&MULTIPLE, 0) && !here(&FUNNELED, 0));
        let both = |items, others| MULTIPLE.express().takes_both(items, others);
        assert!(both(1, 1) && both(1 << 30, 1) && both(3, 1 << 30));
        assert!(!both(0, 1) && !both(1, 0) && !both(1, (1 << 30) + 1) && !both(usize::MAX, 1));
        MULTIPLE.hold_express();
        MULTIPLE.hold_express();
        MULTIPLE.release_express();
        assert!(!here(&MULTIPLE, 1));
        MULTIPLE.release_express();
        assert!(here(&MULTIPLE, 1));
        MULTIPLE.close();
        FUNNELED.close();
        assert!(!here(&MULTIPLE, 1) && !here(&FUNNELED, 1));
    }
}
