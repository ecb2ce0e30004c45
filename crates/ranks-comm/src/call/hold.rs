//! Holds: while there is one, every call is in the list of calls in flight (`inflight_calls`).

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::call::thread_guard::THREAD_GUARD;

/// The number of holds.
static HOLDS: AtomicUsize = AtomicUsize::new(0);

/// Keeps every call in the list while it lives.
#[derive(Debug)]
pub(crate) struct Hold(());

impl Hold {
    pub(crate) fn new() -> Self {
        HOLDS.fetch_add(1, Ordering::Relaxed);
        THREAD_GUARD.fast_path.hold();
        Self(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        THREAD_GUARD.fast_path.release();
        HOLDS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns `true` if calls are listed.
#[inline]
pub(crate) fn is_wanted() -> bool {
    HOLDS.load(Ordering::Relaxed) > 0
}
