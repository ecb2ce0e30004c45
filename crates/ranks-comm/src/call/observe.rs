//! Observation by `ranks-trace` of this crate's calls, and of those of the crates above it.
//!
//! While anybody asks, calls do not take the fast path, so that each is among the calls in flight
//! (`call/inflight_calls.rs`) and told from there. When communication ends, reports of ranks that
//! are processes come together in `transport/mpi/gather_statistics.rs`.

use std::sync::OnceLock;

use ranks_trace::{Facts, Statistics, Track};

use crate::call::hold::Hold;
use crate::call::record::Recorder;
use crate::result::{Error, Result};

/// Reads the settings, before there are ranks whose calls could be observed.
pub(crate) fn start() {
    ranks_trace::start();
    hold_if_observed();
}

/// Keeps the fast path closed, if there are observers.
fn hold_if_observed() {
    static HOLD: OnceLock<Hold> = OnceLock::new();
    if ranks_trace::is_observed() {
        HOLD.get_or_init(Hold::new);
    }
}

/// Looks for a subscriber of `tracing` that takes the spans of operations, and sends it the spans
/// from now on. Returns `true` if there is one.
///
/// A runtime looks when it starts. A subscriber that is set later, or that changes its filter, gets
/// spans only after a call of this function. As long as there is none, operations cost what they
/// cost without spans: for that reason they do not look.
///
/// Spans have the target `ranks::comm` and the level DEBUG. Their fields: `op` (the C name),
/// `backend` (`mpi`, `in process`, `nccl` or `nvshmem`), `comm` (its name), `number` (the number of
/// such calls on the communicator before), `rank`, `size`, `peer`, `dest` and `tag` of messages,
/// `root` of collectives, `dtype`, `reduction`, `count`, `bytes`. An error is an event of the level
/// WARN in the span, with the fields `op` and `error`.
///
/// A panic of the subscriber goes no further than the panic hook: the operation goes on.
#[cfg(feature = "tracing")]
pub fn look_for_subscriber() -> bool {
    let found = ranks_trace::look_for_subscriber();
    hold_if_observed();
    found
}

/// The statistics of a rank so far, on one communicator or on all; empty if nothing is kept.
pub(crate) fn statistics(recorder: &Recorder, all: bool) -> Statistics {
    ranks_trace::statistics(recorder.home, (!all).then_some(recorder.id))
}

/// Makes a call of another library than MPI, which observers are told of if there are any.
#[inline]
pub fn observed<R>(
    on: &Track,
    facts: impl FnOnce() -> Facts,
    call: impl FnOnce() -> Result<R>,
) -> Result<R> {
    on.call(facts, |error: &Error| error.kind().text(), call)
}
