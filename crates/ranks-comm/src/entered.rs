//! A call that was let in, and what ends with it.

use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::gate::Gate;
use crate::limit::{self, Held};
use crate::record::watch::{self, Observed};
use crate::record::{Call, Recorder, Ring};

/// Proof that this thread was let in; leaving is dropping it.
#[must_use = "the call is over as soon as this is dropped"]
#[derive(Debug)]
pub struct Entered<'a> {
    serialized: Option<&'a Gate>,
    /// Where it was recorded to begin.
    recorded: Option<&'a Ring>,
    /// What else ends with it, while somebody looks at calls.
    looked_at: Option<Box<LookedAt>>,
}

#[derive(Debug)]
struct LookedAt {
    observed: Option<Observed>,
    /// That it is known what this thread is in, while time limits are set.
    _limited: Option<Held>,
}

impl<'a> Entered<'a> {
    /// Let in with nothing to undo.
    #[inline(always)]
    pub(crate) fn freely() -> Self {
        Self {
            serialized: None,
            recorded: None,
            looked_at: None,
        }
    }

    /// Let in alone, until this is dropped.
    pub(crate) fn alone(gate: &'a Gate) -> Self {
        Self {
            serialized: Some(gate),
            recorded: None,
            looked_at: None,
        }
    }

    /// Records the call.
    #[inline]
    pub(crate) fn record(&mut self, recorder: &'a Recorder, call: Call) {
        if let Some(ring) = recorder.ring_of(&call) {
            ring.begin(call);
            self.recorded = Some(ring);
        }
    }

    /// Tells those who observe calls, if it was recorded, and remembers that it is under way while time limits are set.
    #[inline]
    pub(crate) fn look_at(&mut self, comm: &Communicator, call: impl Into<Call>, whole: bool) {
        let observed = whole && watch::is_watched();
        if observed || limit::any() {
            self.look_closely(comm, call.into(), observed);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_closely(&mut self, comm: &Communicator, call: Call, observed: bool) {
        self.looked_at = Some(Box::new(LookedAt {
            observed: observed.then(|| Observed::begin(comm.recorder(), call)),
            _limited: limit::any().then(|| limit::enter(comm, call)).flatten(),
        }));
    }

    /// Tells those who observe calls how this one went.
    #[doc(hidden)]
    #[inline]
    pub fn note<R>(&mut self, result: &Result<R>) {
        if let Some(LookedAt {
            observed: Some(observed),
            ..
        }) = self.looked_at.as_deref_mut()
        {
            observed.note(result.as_ref().err().map(Error::kind));
        }
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(ring) = self.recorded {
            ring.end();
        }
        if let Some(gate) = self.serialized {
            gate.leave();
        }
    }
}
