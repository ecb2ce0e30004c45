//! The parts of a PE that operations need: its heap, its number of PEs, its streams, its time
//! limit.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use ranks_comm::backend::observed;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{Context, DeviceSlice, Entered};

use crate::backend::stream::sealed::Sealed;
use crate::backend::stream::{Mark, Ordered, PeStream, StreamRef};
use crate::backend::{Backend, Direction, Order};
use crate::call::error::of_driver;
use crate::call::time_limit::Limit;
use crate::call::time_limit::until;
use crate::heap::arguments::part::Near;
use crate::pe::Pe;
use crate::pe::handle::Nvshmem;
use crate::stream::queue::Queue;

/// The call that waits for what is enqueued.
const WAIT: &str = "cuEventQuery";

/// A PE, as operations see it.
#[derive(Clone, Copy)]
pub(crate) struct Reach<'a> {
    pub(crate) backend: &'a dyn Backend,
    pub(crate) n_pes: usize,
    pub(crate) pe: &'a Pe,
}

/// The description of an operation, for those who wait for it in vain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct What {
    pub(crate) name: &'static str,
    pub(crate) pe: Option<usize>,
}

impl Nvshmem<'_> {
    /// The parts of this PE that `operation` needs to be enqueued, or called.
    ///
    /// # Errors
    /// As [`Pe::begin`].
    #[inline]
    pub(crate) fn reach(&self, operation: &'static str) -> Result<Reach<'_>> {
        self.pe().reach(operation)
    }
}

impl Pe {
    /// [`Nvshmem::reach`]
    #[inline]
    pub(crate) fn reach(&self, operation: &'static str) -> Result<Reach<'_>> {
        Ok(Reach {
            backend: self.begin(operation)?,
            n_pes: self.n_pes,
            pe: self,
        })
    }
}

impl<'a> Reach<'a> {
    fn context(&self) -> Option<&'a Context> {
        self.backend.facts().context.as_ref()
    }

    /// Makes the PE's device the current one of this thread: puts and gets are enqueued so.
    pub(crate) fn enter(&self, operation: &'static str) -> Result<Option<Entered<'a>>> {
        let entered = self.context().map(Context::enter).transpose();
        entered.map_err(|error| of_driver(operation, error))
    }

    /// A stream that operations may be enqueued on.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] unless it is of this backend, and of the PE or its device, and not
    /// being captured.
    pub(crate) fn stream<'s>(
        &self,
        operation: &'static str,
        stream: &'s impl Ordered,
    ) -> Result<StreamRef<'s>> {
        let stream = stream.stream_ref();
        let text = match (stream, self.context()) {
            (_, None) => return self.backend.accept(operation, stream).map(|()| stream),
            (StreamRef::Cuda(of, _), Some(mine)) => {
                let context = of
                    .context()
                    .map_err(|error| of_driver(operation, error))?;
                if context == *mine {
                    let runs = of.refuse_capture(operation);
                    return runs
                        .map(|()| stream)
                        .map_err(|error| of_driver(operation, error));
                }
                let (its, device) = (context.device().ordinal(), mine.device().ordinal());
                format!("the stream is of device {its}, and the PE's is device {device}")
            }
            (StreamRef::Host(_), Some(_)) => {
                "the stream is of a PE that is a thread, and the heap is of GPUs: `Nvshmem::stream` makes what fits".to_owned()
            }
        };
        Err(Error::new(ErrorKind::Argument, operation, text))
    }

    /// Checks that memory that is not of the heap can be worked on; the stream waits for those who
    /// are known to.
    pub(crate) fn take<T: bytemuck::Pod>(
        &self,
        operation: &'static str,
        memory: &mut dyn DeviceSlice<Element = T>,
        direction: Direction,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        let (StreamRef::Cuda(stream, _), Some(context)) = (stream, self.context()) else {
            let text = "the heap is in process, and memory of a GPU cannot be put from there: copy it by the host";
            return Err(Error::new(ErrorKind::Argument, operation, text));
        };
        let driver = memory.cuda().map_err(|error| of_driver(operation, error))?;
        let (ordinal, device) = (memory.ordinal(), context.device().ordinal());
        if ordinal != device || driver != context.cuda() {
            let text =
                format_args!("the memory is of device {ordinal}, and the PE's is device {device}");
            return Err(Error::new(ErrorKind::Argument, operation, text));
        }
        let ordered = if direction == Direction::Get {
            memory.order_writes_after_use(stream)
        } else {
            memory.order_after_use(stream)
        };
        ordered.map_err(|error| of_driver(operation, error))
    }

    /// Does `call` with memory of this PE before it returns, when nobody else is known to work on
    /// that.
    pub(crate) fn now<N: Near>(
        &self,
        operation: &'static str,
        mut near: N,
        direction: Direction,
        call: impl FnOnce(&N) -> Result<()>,
    ) -> Result<()> {
        if near.memory().is_some() {
            let own = self.own_stream(operation)?;
            let stream = own.as_ref().stream_ref();
            self.ready(operation, &mut near, direction, stream)?;
            let what = What::of(operation);
            self.finish(what, stream.mark(operation)?, None)?;
        }
        call(&near)
    }

    /// As [`take`](Self::take), of what may be of the heap: that is always ready.
    pub(crate) fn ready<N: Near>(
        &self,
        operation: &'static str,
        near: &mut N,
        direction: Direction,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        match near.memory() {
            Some(memory) => self.take(operation, memory, direction, stream),
            None => Ok(()),
        }
    }

    /// Enqueues by `call` on a stream of the PE's own, and waits until that is over.
    ///
    /// # Errors
    /// Errors that `call` returns; [`ErrorKind::TimedOut`]: it goes on, and the next call has
    /// another stream.
    pub(crate) fn on_own_stream(
        &self,
        what: What,
        limit: Limit,
        call: impl FnOnce(StreamRef<'_>) -> Result<()>,
    ) -> Result<()> {
        let own = self.own_stream(what.name)?;
        let stream = own.as_ref().stream_ref();
        let _entered = self.enter(what.name)?;
        call(stream)?;
        let mark = self.mark(what.name, stream)?;
        let finished = self.finish(what, mark, limit);
        if finished.is_err() {
            *self.pe.own.stream.borrow_mut() = None;
        }
        finished
    }

    /// As [`on_own_stream`](Self::on_own_stream), with memory of this PE. Other memory than the
    /// heap's is told of the end, since it may go on.
    pub(crate) fn on_own_stream_with<N: Near>(
        &self,
        what: What,
        near: N,
        direction: Direction,
        call: impl FnOnce(&N, StreamRef<'_>) -> Result<()>,
    ) -> Result<()> {
        let own = self.own_stream(what.name)?;
        let queue = Queue::new(*self, own.as_ref().stream_ref())?;
        let stream = queue.stream;
        queue.enqueue_with(what, near, direction, (), |near, ()| call(near, stream))?;
        let finished = match queue.end()? {
            Some(mark) => self.finish(what, mark, None),
            None => Ok(()),
        };
        if finished.is_err() {
            *self.pe.own.stream.borrow_mut() = None;
        }
        finished
    }

    /// Does what all PEs come to: in a call of the backend, or by way of a stream where the call
    /// would not keep the time limit.
    pub(crate) fn together(
        &self,
        name: &'static str,
        call: impl FnOnce(Order<'_>) -> Result<()>,
    ) -> Result<()> {
        // Calls among threads end by themselves when the limit has passed.
        if self.pe.limit.is_none() || self.context().is_none() {
            return call(Order::Now);
        }
        let what = What::of(name);
        self.on_own_stream(what, None, |stream| call(Order::On(stream)))
    }

    /// A point after all that was enqueued so far. Where none can be had, nothing of the heap is
    /// freed any more.
    pub(crate) fn mark(&self, operation: &'static str, stream: StreamRef<'_>) -> Result<Mark> {
        let mark = stream.mark(operation);
        if mark.is_err() {
            self.pe.in_flight.lose();
        }
        mark
    }

    /// Waits until a point is passed. Otherwise what is before it goes on, and no block is freed
    /// before it is over.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] after `limit` (the PE's own if it is `None`); what went wrong with
    /// what was enqueued.
    pub(crate) fn finish(&self, what: What, mark: Mark, limit: Limit) -> Result<()> {
        let wait = || until(limit.or(self.pe.limit), || mark.is_over(what.name));
        let waited = observed(&self.pe.track, || WAIT.into(), wait);
        let error = match waited {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(limit)) => what.too_late(limit),
            Err(error) => error,
        };
        self.pe.in_flight.add(mark);
        Err(error)
    }

    /// The PE's own stream.
    fn own_stream(&self, operation: &'static str) -> Result<Rc<PeStream>> {
        let mut own = self.pe.own.stream.borrow_mut();
        if let Some(own) = &*own {
            return Ok(Rc::clone(own));
        }
        let new = Rc::new(self.new_stream(operation)?);
        Ok(Rc::clone(own.insert(new)))
    }

    /// Another stream of the PE's.
    pub(crate) fn new_stream(&self, operation: &'static str) -> Result<PeStream> {
        match self.context() {
            Some(context) => context
                .stream()
                .map(PeStream::Cuda)
                .map_err(|error| of_driver(operation, error)),
            None => self.backend.host_stream().map(PeStream::Host),
        }
    }
}

impl What {
    pub(crate) fn of(name: &'static str) -> Self {
        Self { name, pe: None }
    }

    pub(crate) fn with(name: &'static str, pe: usize) -> Self {
        let pe = Some(pe);
        Self { name, pe }
    }

    /// The error of what is not over in time.
    #[cold]
    pub(crate) fn too_late(self, limit: Duration) -> Error {
        let Self { name, pe } = self;
        let to = pe.map(|pe| format!(" with PE {pe}")).unwrap_or_default();
        let text = format_args!(
            "the enqueued operation{to} timed out after {limit:?}: a signal, or a PE that does not make the same call or is gone, is \
             waited for; it goes on, and what it works on is not freed before its end"
        );
        Error::new(ErrorKind::TimedOut, name, text)
    }
}

impl fmt::Debug for Reach<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pe.fmt(f)
    }
}
