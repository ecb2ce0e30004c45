//! Observation of calls: statistics and the timeline, and spans of `tracing`.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::call::Call;
use crate::collector::Collector;
#[cfg(feature = "tracing")]
use crate::spans;

/// The reason why a call failed, in the words of its kind of error.
pub type Failure = &'static str;

static OBSERVED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The number of calls that this thread is in.
    static CALLS: Cell<usize> = const { Cell::new(0) };
    /// `true` while its calls are not observed.
    static UNOBSERVED: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` if calls are observed; they are for ever then.
#[inline]
#[must_use]
pub fn is_observed() -> bool {
    OBSERVED.load(Ordering::Relaxed)
}

/// Observes every later call.
pub(crate) fn observe() {
    OBSERVED.store(true, Ordering::Relaxed);
}

/// Makes calls that the program has not made, and that no observer sees.
pub fn unobserved<R>(calls: impl FnOnce() -> R) -> R {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            UNOBSERVED.set(self.0);
        }
    }
    let _reset = Reset(UNOBSERVED.replace(true));
    calls()
}

/// Notes that a call begins, on its thread.
pub fn begun(call: &Call<'_>) {
    if UNOBSERVED.get() {
        return;
    }
    let around = CALLS.get();
    CALLS.set(around + 1);
    #[cfg(feature = "tracing")]
    contained(|| spans::begun(call, around));
    #[cfg(not(feature = "tracing"))]
    let _ = call;
}

/// Notes that it has ended, on the same thread. No panic of a subscriber goes on: this is called
/// while a library may have addresses.
pub fn ended(call: &Call<'_>, failed: Option<Failure>) {
    if UNOBSERVED.get() {
        return;
    }
    let took = call.started.elapsed();
    let around = CALLS.get().saturating_sub(1);
    CALLS.set(around);
    if let Some(collector) = Collector::get() {
        collector.ended(call, around, took, failed);
    }
    #[cfg(feature = "tracing")]
    contained(|| spans::ended(call, around, failed));
}

/// Notes that the process is about to be ended from outside.
pub fn the_process_ends() {
    if let Some(collector) = Collector::get() {
        collector.write_all();
    }
}

/// Calls code of the program's where no panic may go on: one ends here, after the panic hook.
pub fn contained(code: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(code)) {
        // It may panic when it is dropped.
        std::mem::forget(payload);
    }
}
