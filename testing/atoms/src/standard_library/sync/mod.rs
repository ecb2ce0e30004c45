//! Atomics and locks.

pub mod atomic;
pub(crate) mod execution;
mod mutex;

pub use loom::sync::{Condvar, MutexGuard, RwLock};
pub use mutex::Mutex;
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult};
