//! What the exported functions do, whichever release they are of.

pub(crate) mod abi;
pub(crate) mod arithmetic;
pub(crate) mod calls;
pub(crate) mod children;
pub(crate) mod comm;
pub(crate) mod config;
pub(crate) mod control;
pub(crate) mod cuda;
pub(crate) mod driver;
pub(crate) mod exchange;
pub(crate) mod failure;
pub(crate) mod float8;
pub(crate) mod group;
pub(crate) mod hooks;
pub(crate) mod init;
pub(crate) mod launch;
pub(crate) mod life;
pub(crate) mod memory;
pub(crate) mod number;
pub(crate) mod one_sided;
pub(crate) mod operation;
pub(crate) mod operator;
pub(crate) mod pinned;
pub(crate) mod region;
pub(crate) mod rendezvous;
pub(crate) mod ring;
pub(crate) mod waiting;
pub(crate) mod windows;
pub(crate) mod world;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; what a panic has left behind is looked at all the same.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
