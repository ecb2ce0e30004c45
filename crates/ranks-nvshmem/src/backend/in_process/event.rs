//! Events of a stream of the host: they mark a point that the stream comes to.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ranks_comm::{Error, ErrorKind, Result};

/// A point in the order of a stream: over when all is that was enqueued before it was recorded.
/// Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct HostEvent(Arc<State>);

#[derive(Debug, Default)]
struct State {
    over: Mutex<Option<Outcome>>,
    changed: Condvar,
}

/// The error that an operation of the stream has failed with, if one has.
pub(super) type Outcome = Result<(), Failure>;

/// The failure of a stream, which all that wait for it are told.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) operation: &'static str,
    pub(super) text: String,
}

impl Failure {
    pub(super) fn of(error: &Error) -> Failure {
        Failure {
            kind: error.kind(),
            operation: error.operation(),
            text: error.to_string(),
        }
    }

    pub(super) fn error(&self) -> Error {
        Error::with_text(self.kind, self.operation, self.text.clone())
    }
}

impl HostEvent {
    pub(super) fn new() -> HostEvent {
        HostEvent(Arc::default())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Outcome>> {
        self.0.over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream has come to it.
    pub(super) fn is_reached(&self, outcome: Outcome) {
        *self.lock() = Some(outcome);
        self.0.changed.notify_all();
    }

    /// Returns whether the stream has come to it.
    ///
    /// # Errors
    /// The error of an operation on the stream before it.
    pub(crate) fn query(&self) -> Result<bool> {
        match &*self.lock() {
            None => Ok(false),
            Some(Ok(())) => Ok(true),
            Some(Err(failure)) => Err(failure.error()),
        }
    }

    #[cfg(test)]
    /// Waits until the stream has come to it.
    ///
    /// # Errors
    /// The error of an operation on the stream before it; `TimedOut`.
    pub(crate) fn wait(&self, operation: &'static str, limit: Option<Duration>) -> Result<()> {
        self.outcome(limit)
            .map_err(|failure| failure.error())
            .and_then(|over| {
                let limit = limit.unwrap_or_default();
                over.then_some(()).ok_or_else(|| {
                    let why =
                        format_args!("timed out after {limit:?}: the stream did not come so far");
                    Error::new(ErrorKind::TimedOut, operation, why)
                })
            })
    }

    /// Waits. `false` if the limit has passed.
    pub(super) fn outcome(&self, limit: Option<Duration>) -> Result<bool, Failure> {
        // A limit that no clock can tell is none.
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut over = self.lock();
        loop {
            if let Some(outcome) = &*over {
                return outcome.clone().map(|()| true);
            }
            over = match end.map(|end| end.saturating_duration_since(Instant::now())) {
                None => self
                    .0
                    .changed
                    .wait(over)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return Ok(false),
                Some(left) => {
                    let waited = self.0.changed.wait_timeout(over, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
