//! Who wants to know of each call while it is under way, or when it is over.
//!
//! While nobody does, nothing here is reached: calls of everyday sizes go the express way. As soon as somebody does, that way is
//! held closed, and every call passes `Communicator::enter`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::call::Call;
use super::recorder::Recorder;
use crate::error::ErrorKind;
use crate::mpi::GATE;

/// A call under way, or over.
#[derive(Debug, Clone)]
pub(crate) struct Observation {
    pub(crate) call: Call,
    /// How many collectives, or other calls, of this communicator were before it.
    pub(crate) number: u64,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) thread: u64,
    /// How many calls of this thread are around it.
    pub(crate) depth: usize,
    pub(crate) started: Instant,
}

/// Gets to know of calls. It must not call what it observes.
pub(crate) trait Observer: Send + Sync {
    /// A call begins, on the thread that makes it.
    fn begun(&self, _observation: &Observation) {}

    /// It is over, on the same thread.
    fn ended(&self, observation: &Observation, took: Duration, failed: Option<ErrorKind>);
}

static WATCHED: AtomicBool = AtomicBool::new(false);
static OBSERVERS: RwLock<Vec<Arc<dyn Observer>>> = RwLock::new(Vec::new());
static UNDER_WAY: Mutex<(u64, BTreeMap<u64, Observation>)> = Mutex::new((0, BTreeMap::new()));

/// From now on every call is observed.
pub(crate) fn watch() {
    if !WATCHED.swap(true, Ordering::Relaxed) {
        GATE.hold_express();
    }
}

/// From now on every call is told to this one.
pub(crate) fn add(observer: Arc<dyn Observer>) {
    let mut observers = OBSERVERS.write().unwrap_or_else(PoisonError::into_inner);
    observers.push(observer);
    drop(observers);
    watch();
}

/// Whether calls are observed.
#[inline]
pub(crate) fn is_watched() -> bool {
    WATCHED.load(Ordering::Relaxed)
}

/// What is under way in this process, the oldest first.
pub(crate) fn under_way() -> Vec<Observation> {
    let under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    under_way.1.values().cloned().collect()
}

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// An observed call; it is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Observed {
    key: u64,
    failed: Option<ErrorKind>,
}

impl Observed {
    #[cold]
    #[inline(never)]
    pub(crate) fn begin(recorder: &Arc<Recorder>, call: Call) -> Self {
        let number = recorder
            .ring_of(&call)
            .map_or(0, |ring| ring.begun().saturating_sub(1));
        let observation = Observation {
            call,
            number,
            recorder: Arc::clone(recorder),
            thread: crate::thread_level::this_thread(),
            depth: DEPTH.replace(DEPTH.get() + 1),
            started: Instant::now(),
        };
        tell(|observer| observer.begun(&observation));
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.0 += 1;
        let key = under_way.0;
        under_way.1.insert(key, observation);
        Self { key, failed: None }
    }

    /// How the call went.
    pub(crate) fn note(&mut self, failed: Option<ErrorKind>) {
        self.failed = failed;
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get().saturating_sub(1));
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        let observation = under_way.1.remove(&self.key);
        drop(under_way);
        if let Some(observation) = observation {
            let took = observation.started.elapsed();
            tell(|observer| observer.ended(&observation, took, self.failed));
        }
    }
}

fn tell(what: impl Fn(&dyn Observer)) {
    let observers = OBSERVERS.read().unwrap_or_else(PoisonError::into_inner);
    for observer in observers.iter() {
        what(&**observer);
    }
}
