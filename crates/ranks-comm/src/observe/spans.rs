//! A span of `tracing` for each operation.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tracing::Level;
use tracing::span::EnteredSpan;

use crate::call::inflight_calls::{self, CallInFlight, Observer};
use crate::call::record::Home;
use crate::observe::facts::{self, Facts};
use crate::result::ErrorKind;

/// The target that spans and events are filtered by.
const TARGET: &str = "ranks::comm";

static WATCHED: AtomicBool = AtomicBool::new(false);

/// Looks for a subscriber of `tracing` that takes the spans of operations, and sends it the spans from now on. Returns `true` if
/// there is one.
///
/// A runtime looks when it starts. A subscriber that is set later, or that changes its filter, gets spans
/// only after a call of this function. As long as there is none, operations cost what they cost without spans: for that reason
/// they do not look.
///
/// Spans have the target `ranks::comm` and the level DEBUG. Their fields: `op` (the C name), `backend` (`mpi` or `in process`),
/// `comm` (its name), `number` (the number of such calls on the communicator before), `rank`, `size`, `peer`, `dest` and `tag` of
/// messages, `root` of collectives, `dtype`, `reduction`, `count`, `bytes`. An error is an event of the level WARN in
/// the span, with the fields `op` and `error`.
///
/// A panic of the subscriber goes no further than the panic hook: the operation goes on.
pub fn look_for_subscriber() -> bool {
    let wanted = tracing::span_enabled!(target: TARGET, Level::DEBUG);
    if wanted && !WATCHED.swap(true, Ordering::Relaxed) {
        inflight_calls::tell(Arc::new(Spans));
    }
    wanted
}

struct Spans;

thread_local! {
    /// The spans of the calls that this thread is in, each with the depth of its call.
    static OPEN: RefCell<Vec<(usize, EnteredSpan)>> = const { RefCell::new(Vec::new()) };
}

impl Observer for Spans {
    fn begun(&self, call: &CallInFlight) {
        let span = span(call);
        if span.is_disabled() {
            return;
        }
        let entered = span.entered();
        // While a thread ends there is no place for it, and it is closed immediately.
        let _ = OPEN.try_with(|open| {
            if let Ok(mut open) = open.try_borrow_mut() {
                open.push((call.depth, entered));
            }
        });
    }

    fn ended(&self, call: &CallInFlight, _took: Duration, failed: Option<ErrorKind>) {
        if let Some(kind) = failed {
            let op = call.what.operation();
            tracing::warn!(target: TARGET, op, error = %kind, "failed");
        }
        let over = OPEN.try_with(|open| {
            let mut open = open.try_borrow_mut().ok()?;
            let place = open.iter().position(|(depth, _)| *depth >= call.depth)?;
            Some(open.split_off(place))
        });
        // Left in the opposite order, and with nothing borrowed: a subscriber may communicate.
        for (_, span) in over.ok().flatten().into_iter().flatten().rev() {
            span.exit();
        }
    }
}

fn span(call: &CallInFlight) -> tracing::Span {
    let facts = Facts::of(call);
    let recorder = &call.recorder;
    tracing::debug_span!(
        target: TARGET,
        "operation",
        op = facts.operation,
        backend = if recorder.home == Home::MPI { "mpi" } else { "in process" },
        comm = facts::label(recorder),
        number = call.number.unwrap_or_default(),
        rank = recorder.rank,
        size = recorder.size,
        peer = facts.peer,
        dest = facts.dest,
        root = facts.root,
        tag = facts.tag,
        dtype = facts.element,
        reduction = facts.reduction,
        count = facts.count,
        bytes = facts.bytes,
    )
}
