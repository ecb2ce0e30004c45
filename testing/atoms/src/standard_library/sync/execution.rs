//! The executions of a model.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of executions of all models so far.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The number of the execution that goes on.
pub(super) fn number() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// The number of times that a thread is made to wait, while it could go on, in one execution.
/// `LOOM_MAX_PREEMPTIONS` is another one: with 100 of them all orders are tried, which takes
/// minutes.
const PREEMPTIONS: usize = 3;

/// Executes `model` in all orders that its threads may have, and returns their number.
///
/// # Panics
/// If the model does in one of them.
pub fn check(model: fn()) -> u64 {
    let before = number();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(PREEMPTIONS);
    builder.max_branches = 10_000;
    builder.check(move || {
        COUNT.fetch_add(1, Ordering::Relaxed);
        model();
    });
    number() - before
}
