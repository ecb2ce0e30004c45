//! The guard of a call.

use crate::call::hold;
use crate::call::inflight_calls::{self, Callee, Held};
use crate::call::inside::{Alone, Inside};
use crate::call::record::{Call, Class, Recorder, Ring};
use crate::result::{Error, Result};

/// Guard for one call of the library; dropping it ends the call.
#[must_use = "dropping it ends the call"]
#[derive(Debug)]
pub struct CallGuard<'a> {
    _serialized: Option<Alone<'a>>,
    /// The lock of the communicator's collectives, if this is one.
    collective: Option<&'a Inside>,
    /// The ring that the call is recorded in.
    recorded: Option<&'a Ring>,
    /// The entry among the calls in flight, where one is kept.
    held: Option<Box<Held>>,
}

impl<'a> CallGuard<'a> {
    /// A guard with nothing to undo.
    #[inline(always)]
    pub(crate) fn freely() -> Self {
        Self::of(None)
    }

    /// The guard of a thread that was let in.
    #[inline(always)]
    pub(crate) fn of(serialized: Option<Alone<'a>>) -> Self {
        Self {
            _serialized: serialized,
            collective: None,
            recorded: None,
            held: None,
        }
    }

    /// The guard of a thread that was let in: records the call, and adds it to the calls in flight,
    /// if those are kept.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`](crate::ErrorKind::WrongThread) if it is a collective, and another
    /// thread is in one.
    #[inline(never)]
    pub(crate) fn begin(
        serialized: Option<Alone<'a>>,
        on: &'a impl Callee,
        call: Call,
    ) -> Result<Self> {
        if hold::is_wanted() {
            return Self::begin_watched(serialized, on, call);
        }
        // The guard is made at once, and the call is read where it lies: to move what has just been
        // written in parts takes longer than the rest of this.
        let (collective, recorded) = record(on.recorder(), &call)?;
        Ok(Self {
            _serialized: serialized,
            collective,
            recorded,
            held: None,
        })
    }

    /// Adds a part of an operation, which is recorded itself, to the calls in flight.
    #[inline]
    pub(crate) fn begin_part(&mut self, on: &impl Callee, operation: &'static str) {
        if hold::is_wanted() {
            self.hold(on, operation.into(), false);
        }
    }

    /// A call inside another call of this thread, such as a wait for an operation that it has
    /// started, is a part of that one. Collectives always count as calls, since all ranks number
    /// them alike, whether calls in flight are kept or not.
    #[cold]
    #[inline(never)]
    fn begin_watched(
        serialized: Option<Alone<'a>>,
        on: &'a impl Callee,
        call: Call,
    ) -> Result<Self> {
        let mut entered = Self::of(serialized);
        let whole = call.kind.class == Class::Collective || !inflight_calls::is_within_another();
        if whole {
            (entered.collective, entered.recorded) = record(on.recorder(), &call)?;
        }
        entered.hold(on, call, whole);
        Ok(entered)
    }

    #[cold]
    #[inline(never)]
    fn hold(&mut self, on: &impl Callee, call: Call, whole: bool) {
        let number = self.recorded.map(|ring| ring.begun().saturating_sub(1));
        self.held = Some(Box::new(Held::enter(on, call, number, whole)));
    }

    /// Notes the operation that it completes.
    pub(crate) fn is_end_of(&self, operation: &'static str) {
        if let Some(held) = &self.held {
            held.call.is_end_of(operation);
        }
    }

    /// Applies the effect of the time limit to the call, which has passed it before.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`](crate::ErrorKind::TimedOut).
    #[cfg(feature = "async")]
    pub(crate) fn is_late(&self, end_of: &'static str) -> Result<()> {
        self.is_end_of(end_of);
        self.held.as_ref().map_or(Ok(()), |held| held.is_late())
    }

    /// Notes the outcome.
    #[doc(hidden)]
    #[inline]
    pub fn note<R>(&mut self, result: &Result<R>) {
        if let Some(held) = &mut self.held {
            held.failed = result.as_ref().err().map(Error::kind);
        }
    }
}

/// Records a call. Returns the lock of the communicator's collectives, if it is one, and its ring.
#[inline]
fn record<'a>(
    recorder: &'a Recorder,
    call: &Call,
) -> Result<(Option<&'a Inside>, Option<&'a Ring>)> {
    let collective = match call.kind.class {
        Class::Collective => Some(recorder.one_collective(call.operation())?),
        Class::Message | Class::Local => None,
    };
    let ring = recorder.ring_of(call);
    if let Some(ring) = ring {
        ring.begin(*call);
    }
    Ok((collective, ring))
}

impl Drop for CallGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(ring) = self.recorded {
            ring.end();
        }
        if let Some(inside) = self.collective {
            inside.leave();
        }
    }
}
