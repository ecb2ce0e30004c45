//! The calls in flight of each thread, the outermost first. A thread changes its own list alone;
//! the watchdog and dumps read all.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::CallInFlight;
use crate::call::lock::lock;

/// The calls that one thread is in.
#[derive(Debug, Default)]
pub(super) struct ThreadCalls(Mutex<Vec<Arc<CallInFlight>>>);

/// The lists of all threads that have been in a call.
static THREADS: Mutex<Vec<Weak<ThreadCalls>>> = Mutex::new(Vec::new());

thread_local! {
    static MINE: Arc<ThreadCalls> = ThreadCalls::registered();
}

impl ThreadCalls {
    fn registered() -> Arc<Self> {
        let mine = Arc::new(Self::default());
        let mut threads = lock(&THREADS);
        threads.retain(|thread| thread.strong_count() > 0);
        threads.push(Arc::downgrade(&mine));
        mine
    }

    /// The list of this thread; a new one while the thread ends.
    pub(super) fn mine() -> Arc<Self> {
        let mine = MINE.try_with(Arc::clone);
        mine.unwrap_or_else(|_| Self::registered())
    }

    /// The calls, until the guard is dropped.
    pub(super) fn calls(&self) -> MutexGuard<'_, Vec<Arc<CallInFlight>>> {
        lock(&self.0)
    }
}

/// The calls of all threads, the oldest first.
pub(super) fn all() -> Vec<Arc<CallInFlight>> {
    let threads: Vec<_> = {
        let threads = lock(&THREADS);
        threads.iter().filter_map(Weak::upgrade).collect()
    };
    let mut all = Vec::new();
    for thread in threads {
        all.extend_from_slice(&thread.calls());
    }
    all.sort_unstable_by_key(|call| call.started);
    all
}
