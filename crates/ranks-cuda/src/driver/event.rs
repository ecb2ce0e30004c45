//! A point in the order of a stream.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::driver::Context;
use crate::error::Result;
use crate::table::{Handle, NOT_READY, SUCCESS};

/// A point in the order of a stream: over when all is that was enqueued there before it was
/// recorded.
///
/// It is recorded once, by [`Stream::record`](crate::Stream::record), and means the same for ever.
/// Clones are the same event; its handle is used again when the last of them is gone.
#[derive(Clone)]
#[doc(alias = "CUevent")]
#[doc(alias = "cuEventCreate")]
#[doc(alias = "cuEventDestroy_v2")]
pub struct Event(Arc<Inner>);

struct Inner {
    context: Context,
    raw: Handle,
    /// Set once the driver has said that it is complete: it is recorded once.
    over: AtomicBool,
}

// SAFETY: the driver's events may be used from any thread.
unsafe impl Send for Inner {}
// SAFETY: as above; nothing here changes.
unsafe impl Sync for Inner {}

/// An event that is not recorded yet, so that nothing can fail any more but the recording.
#[derive(Debug)]
pub(crate) struct Unrecorded(Event);

impl Unrecorded {
    pub(crate) fn new(context: &Context) -> Result<Unrecorded> {
        let raw = context.take_event()?;
        let context = context.clone();
        let over = AtomicBool::new(false);
        Ok(Unrecorded(Event(Arc::new(Inner { context, raw, over }))))
    }

    /// Records it on a stream.
    ///
    /// # Safety
    /// `stream` is a live stream of the event's context.
    pub(crate) unsafe fn record(self, stream: Handle) -> Result<Event> {
        let Unrecorded(event) = self;
        event.context().call("cuEventRecord", |table| {
            // SAFETY: the event lives, the caller vouches for the stream.
            unsafe { (table.cuEventRecord)(event.raw(), stream) }
        })?;
        event
            .context()
            .cuda()
            .driver()
            .aside
            .recorded(stream, &event);
        Ok(event)
    }
}

impl Event {
    /// Tests whether all work that came before it is complete; nonblocking.
    ///
    /// # Errors
    /// Errors of the driver, of this call or of what was enqueued before.
    #[doc(alias = "cuEventQuery")]
    pub fn query(&self) -> Result<bool> {
        if self.0.over.load(Ordering::Acquire) {
            return Ok(true);
        }
        let context = self.context();
        // SAFETY: the event lives.
        match context.code(|table| unsafe { (table.cuEventQuery)(self.raw()) })? {
            SUCCESS => {
                self.0.over.store(true, Ordering::Release);
                Ok(true)
            }
            NOT_READY => Ok(false),
            code => Err(context.cuda().failure("cuEventQuery", code)),
        }
    }

    /// Waits until all work that came before it is complete.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    #[doc(alias = "cuEventSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        let mut pause = crate::driver::Pause::new();
        while !self.query()? {
            pause.wait();
        }
        Ok(())
    }

    /// The context of the stream that it was recorded on.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// Returns true if it is complete. An event that cannot be queried is not.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.query(), Ok(true))
    }

    /// Returns true if it is the same event.
    pub(crate) fn is(&self, other: &Event) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn raw(&self) -> Handle {
        self.0.raw
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.context.give_event(self.raw);
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("device", &self.context().device().ordinal())
            .finish_non_exhaustive()
    }
}
