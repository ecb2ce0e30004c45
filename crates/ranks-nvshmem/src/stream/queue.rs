//! Operations on borrowed memory, enqueued on one stream.
//!
//! Memory of the heap that an operation was given stays until the operation is over: a scope that
//! is left before leaves a point of its stream behind that is waited for before any block is freed.
//! Other memory of the device is told of an event
//! ([`DeviceSlice::used_until`](ranks_cuda::DeviceSlice::used_until)).

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use ranks_comm::Result;
use ranks_cuda::Entered;
use ranks_raw::backend::drain;

use crate::backend::library::Direct;
use crate::backend::stream::{Mark, StreamRef};
use crate::backend::{Direction, Order, Point};
use crate::heap::arguments::part::Near;
use crate::stream::reach::{Reach, What};

/// A callback that keeps something until the queue is closed, and is told the point of its
/// completion, if there is one.
type OnClose<'env> = Box<dyn FnOnce(Option<&Mark>) + 'env>;

/// The time for which a device that answers neither for an event nor for a stream is waited for,
/// before the process is ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// Operations on borrowed memory, in the order of one stream: what
/// [`Nvshmem::scope`](crate::Nvshmem::scope) gives.
///
/// An operation is enqueued by its call. What it works on is borrowed for as long as the scope was
/// called for.
pub struct Queue<'env> {
    pub(crate) reach: Reach<'env>,
    pub(crate) stream: StreamRef<'env>,
    pub(crate) kept: RefCell<Vec<OnClose<'env>>>,
    /// The operation that was enqueued last, if any was.
    pub(crate) last: Cell<Option<What>>,
    /// The operation enqueued last that waits for other PEs.
    awaits: Cell<Option<What>>,
    /// True if something was started that `quiet` completes.
    begun: Cell<bool>,
    /// Puts and gets, if the backend need not be asked each time.
    pub(crate) direct: Option<Direct>,
    /// The PE's device is the current one of this thread, for as long as operations are enqueued.
    _entered: Option<Entered<'env>>,
    /// The lifetime may neither be shortened nor lengthened.
    env: PhantomData<&'env mut &'env ()>,
}

impl<'env> Queue<'env> {
    /// # Errors
    /// Errors that the driver reports.
    pub(crate) fn new(reach: Reach<'env>, stream: StreamRef<'env>) -> Result<Self> {
        Ok(Self {
            direct: reach.backend.direct(stream),
            _entered: reach.enter("cuCtxSetCurrent")?,
            reach,
            stream,
            kept: RefCell::new(Vec::new()),
            last: Cell::new(None),
            awaits: Cell::new(None),
            begun: Cell::new(false),
            env: PhantomData,
        })
    }

    /// The order of what is enqueued here.
    #[inline]
    pub(crate) fn order(&self) -> Order<'env> {
        Order::On(self.stream)
    }

    /// Enqueues by `call` what works on nothing but the heap's own, or on what is borrowed, unless
    /// the heap was lost meanwhile.
    #[inline]
    pub(crate) fn enqueue(
        &self,
        name: &'static str,
        pe: Option<usize>,
        call: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.reach.pe.is_alive(name)?;
        self.last.set(Some(What { name, pe }));
        call()
    }

    /// As [`enqueue`](Self::enqueue), of what goes on when other PEs do their part.
    pub(crate) fn enqueue_wait(
        &self,
        name: &'static str,
        pe: Option<usize>,
        call: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.awaits.set(Some(What { name, pe }));
        self.enqueue(name, pe, call)
    }

    /// As [`enqueue`](Self::enqueue), with memory of this PE, and another thing that is kept as
    /// long.
    #[inline]
    pub(crate) fn enqueue_with<N: Near + 'env, K: 'env>(
        &self,
        what: What,
        mut near: N,
        direction: Direction,
        other: K,
        call: impl FnOnce(&N, &K) -> Result<()>,
    ) -> Result<()> {
        self.reach.pe.is_alive(what.name)?;
        let is_memory = match near.memory() {
            Some(memory) => {
                self.reach.take(what.name, memory, direction, self.stream)?;
                true
            }
            None => false,
        };
        self.last.set(Some(what));
        let called = call(&near, &other);
        // References and slices need not be kept: what they borrow outlives the queue.
        if is_memory || std::mem::needs_drop::<(N, K)>() {
            self.keep(near, direction, other);
        }
        called
    }

    /// Keeps what an operation was given: whatever has become of the call, it is waited for.
    fn keep<N: Near + 'env, K: 'env>(&self, mut near: N, direction: Direction, other: K) {
        let tell = move |mark: Option<&Mark>| {
            let event = mark.and_then(Mark::event);
            if let (Some(memory), Some(event)) = (near.memory(), event) {
                if direction == Direction::Get {
                    memory.written_until(event);
                } else {
                    memory.used_until(event);
                }
            }
            drop(other);
        };
        self.kept.borrow_mut().push(Box::new(tell));
    }

    /// Remembers whether something is begun that `quiet` ends.
    #[inline]
    pub(crate) fn set_begun(&self, begun: bool) {
        self.begun.set(begun);
    }

    /// A point after all that was enqueued, if there is anything; what is not complete is completed
    /// before. All memory is told of it.
    pub(crate) fn end(&self) -> Result<Option<Mark>> {
        let Some(last) = self.last.take() else {
            return Ok(None);
        };
        let quieted = if self.begun.take() {
            let alive = self.reach.pe.is_alive(last.name);
            alive.and_then(|()| self.reach.backend.point(Point::Quiet, self.order()))
        } else {
            Ok(())
        };
        let quieted = quieted.inspect_err(|error| self.reach.pe.fail(error));
        let mark = self.reach.mark(last.name, self.stream);
        if mark.is_err() {
            self.drain(last.name);
        }
        let kept = self.kept.take();
        if let (Ok(mark), false) = (&mark, kept.is_empty()) {
            // What is dropped below may be registered, and is so as long as anything is in flight.
            self.reach.pe.in_flight.add(mark.clone());
        }
        for tell in kept {
            tell(mark.as_ref().ok());
        }
        quieted?;
        mark.map(Some)
    }

    /// The operation that is waited for when the queue is closed.
    pub(crate) fn awaited(&self) -> Option<What> {
        self.awaits.get().or(self.last.get())
    }

    /// Waits for the stream itself, where no event can be had of it: other memory of the device
    /// cannot be given back before.
    #[cold]
    fn drain(&self, name: &'static str) {
        if self.kept.borrow().is_empty() {
            return;
        }
        drain(PATIENCE, "a stream that no event is recorded on", || {
            // A stream that reports a failure has nothing under way: its context is gone.
            !matches!(self.stream.is_idle(name), Ok(false))
        });
    }
}

impl Drop for Queue<'_> {
    fn drop(&mut self) {
        // Left by an error or a panic: it goes on.
        if let Ok(Some(mark)) = self.end() {
            self.reach.pe.in_flight.add(mark);
        }
    }
}

impl fmt::Debug for Queue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("stream", &self.stream)
            .field("last", &self.last.get())
            .finish_non_exhaustive()
    }
}
