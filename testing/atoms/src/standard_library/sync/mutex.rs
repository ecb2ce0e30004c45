//! A lock of loom that can be made by a constant expression.

use std::fmt;
use std::sync::{LockResult, OnceLock, PoisonError};

use loom::sync::MutexGuard;

/// `std::sync::Mutex`, in a model.
pub struct Mutex<T> {
    first: std::sync::Mutex<Option<T>>,
    made: OnceLock<loom::sync::Mutex<T>>,
}

impl<T> Mutex<T> {
    /// A lock around that value.
    pub const fn new(first: T) -> Self {
        Self {
            first: std::sync::Mutex::new(Some(first)),
            made: OnceLock::new(),
        }
    }

    fn get(&self) -> &loom::sync::Mutex<T> {
        self.made.get_or_init(|| {
            let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            loom::sync::Mutex::new(first.take().expect("taken once"))
        })
    }

    /// As that of the standard library.
    ///
    /// # Errors
    /// None in a model.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.get().lock()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get();
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}
