//! A call that was let in, and what ends with it.

use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::inside::Inside;
use crate::record::{Call, Class, Recorder, Ring};
use crate::under_way::{self, Held};

/// Proof that this thread was let in; leaving is dropping it.
#[must_use = "the call is over as soon as this is dropped"]
#[derive(Debug)]
pub struct Entered<'a> {
    serialized: Option<&'a Inside>,
    /// Which thread is in the collectives of the communicator, if this is one.
    collective: Option<&'a Inside>,
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
            collective: None,
            recorded: None,
            held: None,
        }
    }

    /// Let in alone, until this is dropped.
    pub(crate) fn alone(inside: &'a Inside) -> Self {
        Self {
            serialized: Some(inside),
            collective: None,
            recorded: None,
            held: None,
        }
    }

    /// Records the call, and puts it among those that are under way, if anybody wants to know of them.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`](crate::ErrorKind::WrongThread) if it is a collective, and another thread is in one.
    #[inline]
    pub(crate) fn begin(&mut self, comm: &'a Communicator, call: Call) -> Result<()> {
        if under_way::is_wanted() {
            self.begin_watched(comm, call)
        } else {
            self.record(comm.recorder(), call)
        }
    }

    /// Puts a part of an operation, which is recorded itself, among the calls that are under way.
    #[inline]
    pub(crate) fn begin_part(&mut self, comm: &Communicator, operation: &'static str) {
        if under_way::is_wanted() {
            self.hold(comm, operation.into(), false);
        }
    }

    #[inline]
    fn record(&mut self, recorder: &'a Recorder, call: Call) -> Result<()> {
        if call.kind.class == Class::Collective {
            self.collective = Some(recorder.one_collective(call.operation())?);
        }
        if let Some(ring) = recorder.ring_of(&call) {
            ring.begin(call);
            self.recorded = Some(ring);
        }
        Ok(())
    }

    /// What a call that this thread is in does itself, such as to wait for the end of what it has begun, is a part of that one.
    /// Collectives are calls wherever they are, since all ranks number them alike, whoever wants to know of them.
    #[cold]
    #[inline(never)]
    fn begin_watched(&mut self, comm: &'a Communicator, call: Call) -> Result<()> {
        let whole = call.kind.class == Class::Collective || !under_way::is_within_another();
        if whole {
            self.record(comm.recorder(), call)?;
        }
        self.hold(comm, call, whole);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn hold(&mut self, comm: &Communicator, call: Call, whole: bool) {
        let number = self.recorded.map(|ring| ring.begun().saturating_sub(1));
        self.held = Some(Box::new(Held::enter(comm, call, number, whole)));
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
        for inside in [self.collective, self.serialized].into_iter().flatten() {
            inside.leave();
        }
    }
}
