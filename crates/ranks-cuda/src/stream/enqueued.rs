//! Pending operations on a stream, which own the memory that they work on.

use std::fmt;
use std::mem::ManuallyDrop;
use std::time::Duration;

use crate::driver::{Event, Pause, Unrecorded};
use crate::error::{Error, ErrorKind, Result};
use crate::stream::Stream;
use crate::stream::device_slice::DeviceBuffers;

/// An operation that was enqueued on a stream, with the buffers `B` that it works on.
///
/// They come back when it is complete ([`wait`](Self::wait)), or in the order of another stream
/// ([`enqueue_wait`](Self::enqueue_wait)). If this is dropped before, the operation goes on, and
/// the free of the buffers is deferred until it is complete; `drop` neither waits nor panics. If it
/// is forgotten, they are never freed.
///
/// `W` looks after what else can go wrong while one waits: that a communicator fails, say.
#[must_use = "the buffers come back by `wait` or `enqueue_wait`"]
pub struct Enqueued<B: Send + 'static, W: Watch = Alone> {
    event: Event,
    /// Taken once: by who takes this apart, or by `drop`.
    buffers: ManuallyDrop<B>,
    watch: W,
}

/// Looks after an operation while somebody waits for it.
pub trait Watch {
    /// Error of a wait.
    type Error;

    /// Called between two looks at the operation, `waited` after the wait has begun. An error ends
    /// the wait.
    ///
    /// # Errors
    /// The reason to end the wait.
    fn look(&self, waited: Duration) -> Result<(), Self::Error>;

    /// Called when the operation is complete: checks that it did what it should.
    ///
    /// # Errors
    /// The failure that it finds.
    fn over(&self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A failure of the driver, in its own terms.
    fn of_driver(&self, error: Error) -> Self::Error;
}

/// Nobody looks: the driver tells all there is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Watch for Alone {
    type Error = Error;

    fn look(&self, _waited: Duration) -> Result<()> {
        Ok(())
    }

    fn of_driver(&self, error: Error) -> Error {
        error
    }
}

impl<B: Send + 'static, W: Watch> Enqueued<B, W> {
    /// Enqueues an operation, by a function that is given the buffers where they are, and keeps
    /// them until it is complete.
    ///
    /// If the function fails, the buffers are dropped when any work it may have enqueued before is
    /// complete. The stream is not made to wait for others who work on the buffers: see
    /// [`DeviceSlice::order_after_use`](crate::DeviceSlice::order_after_use).
    ///
    /// # Errors
    /// Errors of the function, and of the driver.
    ///
    /// # Safety
    /// The work that `enqueue` enqueues is on `stream` (or `stream` waits for it), and works on
    /// nothing but memory that the buffers keep, wherever they are moved to.
    pub unsafe fn begin<S: Stream + ?Sized>(
        stream: &S,
        buffers: B,
        watch: W,
        enqueue: impl FnOnce(&mut B) -> Result<(), W::Error>,
    ) -> Result<Self, W::Error> {
        // All that can fail comes first: once something is enqueued, its end must be known.
        let event = stream
            .refuse_capture("cuEventRecord")
            .and_then(|()| stream.context())
            .and_then(|context| Unrecorded::new(&context));
        let event = event.map_err(|error| watch.of_driver(error))?;
        // If the function panics, nothing is freed.
        let mut buffers = ManuallyDrop::new(buffers);
        let enqueued = enqueue(&mut buffers);
        // SAFETY: the stream is live, and the event was made in its context.
        let recorded = unsafe { event.record(stream.raw().0) };
        // Without an event its completion is unknown: then the buffers are left alone for ever.
        let event = recorded.map_err(|error| watch.of_driver(error))?;
        let begun = Enqueued {
            event,
            buffers,
            watch,
        };
        // On failure `begun` is dropped, and defers the free of the buffers.
        enqueued.map(|()| begun)
    }

    /// Waits until the operation is complete.
    ///
    /// # Errors
    /// Errors of the driver, and those that the watch sees. The free of the buffers is then
    /// deferred as by `drop`.
    pub fn wait(self) -> Result<B, W::Error> {
        self.wait_until(None)
    }

    /// As [`wait`](Self::wait), for so long at most.
    ///
    /// # Errors
    /// [`TimedOut`](ErrorKind::TimedOut); else as [`wait`](Self::wait).
    pub fn wait_for(self, limit: Duration) -> Result<B, W::Error> {
        self.wait_until(Some(limit))
    }

    fn wait_until(self, limit: Option<Duration>) -> Result<B, W::Error> {
        let mut pause = Pause::new();
        while !self.query()? {
            let waited = pause.waited();
            self.watch.look(waited)?;
            if let Some(limit) = limit.filter(|limit| waited >= *limit) {
                let text = format_args!("the enqueued operation timed out after {limit:?}");
                let error = Error::refused(ErrorKind::TimedOut, "cuEventQuery", text);
                return Err(self.watch.of_driver(error));
            }
            pause.wait();
        }
        self.watch.over()?;
        let aside = &self.event.context().cuda().driver().aside;
        aside.collect(Some(self.event.context()));
        Ok(self.take().1)
    }

    /// Tests whether the operation is complete; nonblocking.
    ///
    /// # Errors
    /// Errors of the driver, and those that the watch sees.
    pub fn is_done(&self) -> Result<bool, W::Error> {
        if self.query()? {
            self.watch.over()?;
            return Ok(true);
        }
        self.watch.look(Duration::ZERO)?;
        Ok(false)
    }

    /// Makes what is enqueued on `stream` from now on wait for the operation, and gives the buffers
    /// back for use there. It does not wait itself.
    ///
    /// The buffers may be used on that stream immediately, and elsewhere when this event is
    /// complete: dropping them is sound whenever. Memory of the host comes back by
    /// [`wait`](Self::wait) alone:
    ///
    /// ```compile_fail,E0277
    /// use ranks::cuda::{CudaStream, DeviceVec, Enqueued, PinnedVec, Result};
    /// fn early(copy: Enqueued<(DeviceVec<f32>, PinnedVec<f32>)>, stream: &CudaStream) -> Result<PinnedVec<f32>> {
    ///     let (_, host) = copy.enqueue_wait(stream)?;
    ///     Ok(host)
    /// }
    /// ```
    ///
    /// # Errors
    /// Errors of the driver. The free of the buffers is then deferred as by `drop`.
    pub fn enqueue_wait(self, stream: &(impl Stream + ?Sized)) -> Result<B, W::Error>
    where
        B: DeviceBuffers,
    {
        stream
            .wait_event(&self.event)
            .map_err(|error| self.watch.of_driver(error))?;
        let (event, mut buffers) = self.take();
        buffers.written_until(&event);
        Ok(buffers)
    }

    /// The event that is complete when the operation is.
    #[must_use]
    pub fn event(&self) -> &Event {
        &self.event
    }

    fn query(&self) -> Result<bool, W::Error> {
        self.event
            .query()
            .map_err(|error| self.watch.of_driver(error))
    }

    /// Takes it apart, with no drop of its own.
    fn take(self) -> (Event, B) {
        let mut this = ManuallyDrop::new(self);
        let event = this.event.clone();
        // SAFETY: `this` is not dropped, so that the buffers are taken once.
        let buffers = unsafe { ManuallyDrop::take(&mut this.buffers) };
        // SAFETY: as above: these two fields are dropped here, once, and not used after.
        unsafe { std::ptr::drop_in_place(&raw mut this.watch) };
        // SAFETY: as above.
        unsafe { std::ptr::drop_in_place(&raw mut this.event) };
        (event, buffers)
    }
}

impl<B: Send + 'static, W: Watch> Drop for Enqueued<B, W> {
    fn drop(&mut self) {
        // SAFETY: taken here, or by `take`, which prevents this drop.
        let buffers = unsafe { ManuallyDrop::take(&mut self.buffers) };
        let aside = &self.event.context().cuda().driver().aside;
        aside.release(self.event.context(), vec![self.event.clone()], buffers);
    }
}

impl<B: Send + 'static, W: Watch> fmt::Debug for Enqueued<B, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enqueued")
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}
