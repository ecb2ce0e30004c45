//! A span of `tracing` for each operation.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tracing::{Dispatch, Level, Span, span};

use crate::call::Call;
use crate::observer::{self, Failure, contained};

/// The target that spans and events are filtered by.
const TARGET: &str = "ranks::comm";

static WATCHED: AtomicBool = AtomicBool::new(false);

/// Looks for a subscriber that takes spans of operations, and sends it the spans from now on.
/// Returns `true` if there is one.
pub fn look_for_subscriber() -> bool {
    let wanted = tracing::span_enabled!(target: TARGET, Level::DEBUG);
    if wanted {
        WATCHED.store(true, Ordering::Relaxed);
        observer::observe();
    }
    wanted
}

/// Tells which library was opened, once for each.
pub(crate) fn opened(library: &str, path: &Path) {
    static TOLD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let is_new = told.insert(path.to_owned());
    drop(told);
    if is_new {
        let path = path.display();
        tracing::info!(target: "ranks::load", library, %path, "opened");
    }
}

thread_local! {
    /// The spans of the calls that this thread is in, each with the number of calls around its own.
    static OPEN: RefCell<Vec<(usize, Entered)>> = const { RefCell::new(Vec::new()) };
}

/// A span that this thread has entered. A subscriber may panic at each of its calls: each is made
/// by itself, so that none comes while another one unwinds.
struct Entered(Span);

impl Entered {
    fn new(span: Span) -> Self {
        let entered = Self(span);
        entered.tell(|id, subscriber| subscriber.enter(id));
        entered
    }

    fn tell(&self, call: impl FnOnce(&span::Id, &Dispatch)) {
        contained(|| {
            self.0
                .with_subscriber(|(id, subscriber)| call(id, subscriber));
        });
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.tell(|id, subscriber| subscriber.exit(id));
        let span = std::mem::replace(&mut self.0, Span::none());
        contained(|| drop(span));
    }
}

/// Enters the span of a call, which has so many calls around it.
pub(crate) fn begun(call: &Call<'_>, around: usize) {
    if !WATCHED.load(Ordering::Relaxed) {
        return;
    }
    let span = span_of(call);
    if span.is_disabled() {
        return;
    }
    let entered = Entered::new(span);
    // While a thread ends there is no place for it, and it is closed immediately.
    let _ = OPEN.try_with(|open| {
        if let Ok(mut open) = open.try_borrow_mut() {
            open.push((around, entered));
        }
    });
}

/// Leaves the span of a call.
pub(crate) fn ended(call: &Call<'_>, around: usize, failed: Option<Failure>) {
    if !WATCHED.load(Ordering::Relaxed) {
        return;
    }
    if let Some(error) = failed {
        let op = call.facts.operation;
        contained(|| tracing::warn!(target: TARGET, op, %error, "failed"));
    }
    let over = OPEN.try_with(|open| {
        let mut open = open.try_borrow_mut().ok()?;
        let place = open.iter().position(|(outer, _)| *outer >= around)?;
        Some(open.split_off(place))
    });
    // Left in the opposite order, and with nothing borrowed: a subscriber may communicate.
    over.ok()
        .flatten()
        .into_iter()
        .flatten()
        .rev()
        .for_each(drop);
}

fn span_of(call: &Call<'_>) -> Span {
    let Call { comm, facts, .. } = call;
    tracing::debug_span!(
        target: TARGET,
        "operation",
        op = facts.operation,
        backend = comm.backend,
        comm = comm.label(),
        number = call.number.unwrap_or_default(),
        rank = comm.rank,
        size = comm.size,
        peer = facts.peer,
        dest = facts.dest,
        root = facts.root,
        tag = facts.tag,
        dest_tag = facts.dest_tag,
        dtype = facts.element,
        reduction = facts.reduction,
        count = facts.count,
        bytes = facts.bytes,
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::subscriber::with_default;
    use tracing::{Event, Metadata, Subscriber};

    use super::*;
    use crate::call::Facts;
    use crate::track::Track;

    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<Vec<String>>>);

    impl Visit for Notes {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            self.0.lock().unwrap().push(format!("{field}={value:?}"));
        }
    }

    impl Subscriber for Notes {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            ["ranks::load", TARGET].contains(&metadata.target())
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            let mut depth = Depth::default();
            span.record(&mut depth);
            Id::from_u64(depth.0)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            event.record(&mut self.clone());
        }

        fn enter(&self, id: &Id) {
            self.0.lock().unwrap().push(format!("in {}", id.into_u64()));
        }

        fn exit(&self, id: &Id) {
            self.0
                .lock()
                .unwrap()
                .push(format!("out {}", id.into_u64()));
        }
    }

    /// The count of a call, which numbers its span here.
    #[derive(Default)]
    struct Depth(u64);

    impl Visit for Depth {
        fn record_u64(&mut self, field: &Field, value: u64) {
            if field.name() == "count" {
                self.0 = value;
            }
        }

        fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
    }

    /// The span of the outer call was closed with that of the inner one.
    #[test]
    fn calls_inside_calls_are_spans_inside_spans() {
        let track = Track::new("nvshmem", "heap", 0, 1);
        let call = |count: u64, inner: &dyn Fn()| {
            let facts = || Facts {
                count,
                ..Facts::from("nvshmem_quiet")
            };
            let called = track.call(
                facts,
                |()| "failed",
                || {
                    inner();
                    Ok(())
                },
            );
            called.unwrap();
        };
        let notes = Notes::default();
        with_default(notes.clone(), || {
            assert!(look_for_subscriber());
            call(1, &|| {
                call(2, &|| {});
                call(3, &|| {});
            });
        });
        let told = ["in 1", "in 2", "out 2", "in 3", "out 3", "out 1"];
        assert_eq!(*notes.0.lock().unwrap(), told);
    }

    #[test]
    fn a_library_that_is_opened_is_told_once() {
        let notes = Notes::default();
        with_default(notes.clone(), || {
            opened("MPICH 5.0.2", Path::new("/lib/libmpi.so.12"));
            opened("NCCL 2.32.3", Path::new("/lib/libnccl.so.2"));
            opened("MPICH 5.0.2", Path::new("/lib/libmpi.so.12"));
        });
        let told = [
            "message=opened",
            "library=\"MPICH 5.0.2\"",
            "path=/lib/libmpi.so.12",
            "message=opened",
            "library=\"NCCL 2.32.3\"",
            "path=/lib/libnccl.so.2",
        ];
        assert_eq!(*notes.0.lock().unwrap(), told);
    }
}
