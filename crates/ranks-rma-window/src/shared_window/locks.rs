//! Locks of segments: one for each, as atomics in the memory itself, so that a rank takes and
//! leaves one without the segment's owner and without the library.

use std::sync::atomic::{AtomicU64, Ordering};

/// The lock of a segment. Zeros are one that nobody holds.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Lock {
    /// [`EXCLUSIVE`], or the number of those who share it.
    holders: AtomicU64,
    /// Number of those who wait to hold it exclusively.
    waiting: AtomicU64,
}

/// Somebody holds it exclusively.
const EXCLUSIVE: u64 = 1 << 63;

/// One that waits to hold a lock exclusively, until it is dropped.
#[derive(Debug)]
pub(super) struct Waiting<'a>(&'a Lock);

impl Lock {
    /// Shares it, unless somebody holds it exclusively, or waits to and this one `lets_pass`.
    pub(super) fn try_shared(&self, lets_pass: bool) -> bool {
        if lets_pass && self.waiting.load(Ordering::Relaxed) > 0 {
            return false;
        }
        let one_more = |holders| (holders < EXCLUSIVE).then_some(holders + 1);
        let shared = self
            .holders
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more);
        shared.is_ok()
    }

    /// Holds it exclusively, unless somebody holds it.
    pub(super) fn try_exclusive(&self) -> bool {
        let taken =
            self.holders
                .compare_exchange(0, EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    /// Says that somebody waits to hold it exclusively.
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }

    /// Leaves it, by one that holds it.
    pub(super) fn leave(&self) {
        // If one holds it exclusively, that is the one that leaves.
        if self.holders.load(Ordering::Relaxed) == EXCLUSIVE {
            self.holders.store(0, Ordering::Release);
        } else {
            self.holders.fetch_sub(1, Ordering::Release);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_held_by_many_or_by_one_alone() {
        let lock = Lock::default();
        assert!(lock.try_shared(true) && lock.try_shared(true));
        assert!(!lock.try_exclusive());
        lock.leave();
        assert!(!lock.try_exclusive());
        lock.leave();
        assert!(lock.try_exclusive());
        assert!(!lock.try_exclusive() && !lock.try_shared(true) && !lock.try_shared(false));
        lock.leave();
        assert!(lock.try_shared(true));
    }

    /// One that waits would never have it while others take turns with it.
    #[test]
    fn who_waits_to_have_it_alone_is_let_pass() {
        let lock = Lock::default();
        assert!(lock.try_shared(true));
        let waiting = lock.wait();
        assert!(!lock.try_shared(true));
        // One that holds another lock already, which the one that waits may need, goes on.
        assert!(lock.try_shared(false));
        drop(waiting);
        assert!(lock.try_shared(true));
    }
}
