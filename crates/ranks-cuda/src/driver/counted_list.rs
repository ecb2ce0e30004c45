//! A list whose length is known without its lock.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Entries, and their number.
#[derive(Debug)]
pub(crate) struct CountedList<T> {
    entries: Mutex<Vec<T>>,
    /// At least the number of entries.
    count: AtomicUsize,
}

impl<T> Default for CountedList<T> {
    fn default() -> Self {
        Self {
            entries: Mutex::new(Vec::new()),
            count: AtomicUsize::new(0),
        }
    }
}

impl<T> CountedList<T> {
    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry.
    pub(crate) fn push(&self, entry: T) {
        let mut entries = self.lock();
        // Whoever takes it out subtracts it, and finds it counted by then.
        self.count.fetch_add(1, Ordering::Relaxed);
        entries.push(entry);
    }

    /// Takes out the entries that `is_wanted` names. Nothing is locked while it is asked.
    pub(crate) fn take(&self, is_wanted: impl FnMut(&T) -> bool) -> Vec<T> {
        let all = std::mem::take(&mut *self.lock());
        let (wanted, left): (Vec<_>, Vec<_>) = all.into_iter().partition(is_wanted);
        self.lock().extend(left);
        self.count.fetch_sub(wanted.len(), Ordering::Relaxed);
        wanted
    }

    /// The number of entries, those included that a thread looks at right now.
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}
