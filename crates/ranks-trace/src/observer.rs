//! Observers of calls, and the calls that they are told of.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::call::Call;

/// The reason why a call failed, in the words of its kind of error.
pub type Failure = &'static str;

/// Observes calls. Must not itself communicate. A panic ends after the panic hook.
pub(crate) trait Observer: Send + Sync {
    /// Called at the start of a call, on its thread.
    fn begun(&self, _call: &Call<'_>) {}

    /// Called at the end of a call, on the same thread.
    fn ended(&self, call: &Call<'_>, took: Duration, failed: Option<Failure>);

    /// Called before the process is ended from outside.
    fn process_ends(&self) {}
}

static OBSERVERS: RwLock<Vec<Arc<dyn Observer>>> = RwLock::new(Vec::new());
static ANY: AtomicBool = AtomicBool::new(false);

/// Returns `true` if there is an observer; there is one for ever then.
#[inline]
#[must_use]
pub fn is_observed() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// Registers an observer of every later call.
pub(crate) fn tell(observer: Arc<dyn Observer>) {
    let mut observers = OBSERVERS.write().unwrap_or_else(PoisonError::into_inner);
    observers.push(observer);
    ANY.store(true, Ordering::Relaxed);
}

/// Tells the observers that a call begins.
pub fn begun(call: &Call<'_>) {
    for_observers(|observer| observer.begun(call));
}

/// Tells the observers that it has ended.
pub fn ended(call: &Call<'_>, failed: Option<Failure>) {
    let took = call.started.elapsed();
    for_observers(|observer| observer.ended(call, took, failed));
}

/// Tells the observers that the process is about to be ended.
pub fn the_process_ends() {
    for_observers(|observer| observer.process_ends());
}

/// Calls the observers. No panic of one goes on: they are called while a library may have
/// addresses.
fn for_observers(what: impl Fn(&dyn Observer)) {
    let observers = OBSERVERS.read().unwrap_or_else(PoisonError::into_inner);
    for observer in observers.iter() {
        contained(|| what(&**observer));
    }
}

/// Calls code of the program's where no panic may go on: one ends here, after the panic hook.
pub fn contained(code: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(code)) {
        // It may panic when it is dropped.
        std::mem::forget(payload);
    }
}
