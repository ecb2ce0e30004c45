//! A reentrant lock that refuses other threads.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ranks_trace::this_thread;

/// The thread that is inside, and its depth.
#[derive(Debug)]
pub(crate) struct Inside {
    /// The number of the thread, by [`this_thread`]; 0 if none.
    thread: AtomicU64,
    /// The number of times that it has entered; only that thread writes it.
    depth: AtomicU32,
}

impl Inside {
    pub(crate) const fn new() -> Self {
        Self {
            thread: AtomicU64::new(0),
            depth: AtomicU32::new(0),
        }
    }

    /// Enters until the guard is dropped, unless another thread is inside.
    pub(crate) fn guard(&self) -> Option<Alone<'_>> {
        self.enter().map(|_| Alone(self))
    }

    /// Enters, until [`leave`](Self::leave), unless another thread is inside; returns the depth
    /// before.
    pub(crate) fn enter(&self) -> Option<u32> {
        let me = this_thread();
        let entered = self
            .thread
            .compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed);
        match entered {
            Err(other) if other != me => None,
            _ => Some(self.depth.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// Undoes one [`enter`](Self::enter).
    pub(crate) fn leave(&self) {
        if self.depth.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.thread.store(0, Ordering::Release);
        }
    }
}

/// Guard of the thread that is inside.
#[derive(Debug)]
pub(crate) struct Alone<'a>(&'a Inside);

impl Drop for Alone<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.leave();
    }
}
