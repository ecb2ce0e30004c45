//! A call that was let in, and what ends with it.

use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::gate::Gate;
use crate::record::{Call, Recorder, Ring};
use crate::under_way::{self, Held};

/// Proof that this thread was let in; leaving is dropping it.
#[must_use = "the call is over as soon as this is dropped"]
#[derive(Debug)]
pub struct Entered<'a> {
    serialized: Option<&'a Gate>,
    /// Where it was recorded to begin.
    recorded: Option<&'a Ring>,
    /// That it is under way, where anybody wants to know.
    held: Option<Box<Held>>,
}

impl<'a> Entered<'a> {
    /// Let in with nothing to undo.
    #[inline(always)]
    pub(crate) fn freely() -> Self {
        Self {
            serialized: None,
            recorded: None,
            held: None,
        }
    }

    /// Let in alone, until this is dropped.
    pub(crate) fn alone(gate: &'a Gate) -> Self {
        Self {
            serialized: Some(gate),
            recorded: None,
            held: None,
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

    /// Puts it among the calls that are under way, if anybody wants to know of them.
    #[inline]
    pub(crate) fn hold(&mut self, comm: &Communicator, call: impl Into<Call>, whole: bool) {
        if under_way::is_wanted() {
            self.hold_now(comm, call.into(), whole);
        }
    }

    #[cold]
    #[inline(never)]
    fn hold_now(&mut self, comm: &Communicator, call: Call, whole: bool) {
        self.held = Some(Box::new(Held::enter(comm, call, whole)));
    }

    /// Says how it went.
    #[doc(hidden)]
    #[inline]
    pub fn note<R>(&mut self, result: &Result<R>) {
        if let Some(held) = &mut self.held {
            held.note(result.as_ref().err().map(Error::kind));
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
