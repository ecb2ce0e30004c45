//! The lock of shared state.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock whose holder panicked holds valid data all the same: no code between lock and unlock can
/// panic half-way.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
