//! Work that is left for later, and a flag by which it costs one load to see that there is none.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::call::lock::lock;

/// One piece of it.
type Work = Box<dyn FnOnce() + Send>;

/// The work that is left.
pub(crate) struct Deferred {
    left: Mutex<Vec<Work>>,
    /// `true` if there may be any.
    is_any: AtomicBool,
}

impl Deferred {
    pub(crate) const fn new() -> Self {
        Self {
            left: Mutex::new(Vec::new()),
            is_any: AtomicBool::new(false),
        }
    }

    /// Leaves a piece of work.
    pub(crate) fn leave(&self, work: impl FnOnce() + Send + 'static) {
        let mut left = lock(&self.left);
        left.push(Box::new(work));
        self.is_any.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if there may be any: on a thread that has left some, until it is taken.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Relaxed)
    }

    /// Takes all that is left.
    #[cold]
    pub(crate) fn take(&self) -> Vec<Work> {
        let mut left = lock(&self.left);
        // The lock orders it with what `leave` stores.
        self.is_any.store(false, Ordering::Relaxed);
        std::mem::take(&mut *left)
    }
}
