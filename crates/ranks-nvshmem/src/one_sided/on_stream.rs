//! Operations that own their memory, enqueued on a stream.

use ranks_comm::Result;

use crate::backend::names::{PUT_SIGNAL, SIGNAL_OP, SIGNAL_WAIT};
use crate::backend::stream::{Ordered, PeStream, StreamRef};
use crate::backend::{Comparison, Direction, Order, Point, Reuse, SignalOp};
use crate::heap::arguments::part::{Near, Part};
use crate::heap::arguments::{Destination, Source, Symmetric};
use crate::one_sided::signals::SignalRef;
use crate::pe::handle::Nvshmem;
use crate::stream::enqueued::{Enqueued, Owned};
use crate::stream::reach::{Reach, What};

impl Nvshmem<'_> {
    /// A stream of this PE's: of its device, or in process of a thread.
    ///
    /// # Errors
    /// Errors that the driver reports.
    #[doc(alias = "cuStreamCreate")]
    pub fn stream(&self) -> Result<PeStream> {
        const OPERATION: &str = "cuStreamCreateWithPriority";
        self.reach(OPERATION)?.new_stream(OPERATION)
    }

    /// As [`Queue::put`](crate::Queue::put), with memory that it owns.
    ///
    /// # Errors
    /// As [`put`](Self::put); [`ErrorKind::Argument`](ranks_comm::ErrorKind::Argument) for a stream
    /// of another PE, device or backend. The buffers are then dropped.
    #[doc(alias = "nvshmemx_putmem_on_stream")]
    pub fn put_on_stream<D, S>(
        &self,
        dest: D,
        source: S,
        pe: usize,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'_, (D, S)>>
    where
        D: Symmetric + Owned,
        S: Source<Element = D::Element> + Owned,
    {
        self.access_on_stream(
            Direction::Put,
            (dest, source),
            |(dest, source)| (dest, source),
            pe,
            stream,
        )
    }

    /// As [`Queue::get`](crate::Queue::get), with memory that it owns.
    ///
    /// # Errors
    /// As [`put_on_stream`](Self::put_on_stream).
    #[doc(alias = "nvshmemx_getmem_on_stream")]
    pub fn get_on_stream<D, S>(
        &self,
        dest: D,
        source: S,
        pe: usize,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'_, (D, S)>>
    where
        S: Symmetric + Owned,
        D: Destination<Element = S::Element> + Owned,
    {
        self.access_on_stream(
            Direction::Get,
            (dest, source),
            |(dest, source)| (source, dest),
            pe,
            stream,
        )
    }

    /// Enqueues a put or a get; `sides` says which of the buffers is at the other PE, and which
    /// here.
    fn access_on_stream<B: Owned, F: Part, N: Near<Element = F::Element>>(
        &self,
        direction: Direction,
        buffers: B,
        sides: impl for<'b> FnOnce(&'b mut B) -> (&'b mut F, &'b mut N),
        pe: usize,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'_, B>> {
        let order = Order::On(stream.stream_ref());
        let what = What::with(direction.name(order, Reuse::After), pe);
        let reach = self.reach(what.name)?;
        let call = |buffers: &mut B, stream: StreamRef<'_>| {
            let (far, near) = sides(buffers);
            reach.ready(what.name, near, direction, stream)?;
            reach.access(direction, far, near, pe, Order::On(stream), Reuse::After)
        };
        Enqueued::begin(reach, what, buffers, stream, call)
    }

    /// As [`Queue::put_signal`](crate::Queue::put_signal), with memory that it owns. The signal
    /// need not be owned: it is not freed before the operation is over.
    ///
    /// # Errors
    /// As [`put_on_stream`](Self::put_on_stream).
    #[doc(alias = "nvshmemx_putmem_signal_on_stream")]
    #[allow(clippy::too_many_arguments, reason = "those of the C function")]
    pub fn put_signal_on_stream<'s, D, S>(
        &self,
        dest: D,
        source: S,
        signal: impl Into<SignalRef<'s>>,
        value: u64,
        op: SignalOp,
        pe: usize,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'_, (D, S)>>
    where
        D: Symmetric + Owned,
        S: Source<Element = D::Element> + Owned,
    {
        let what = What::with(PUT_SIGNAL.of(Order::Now, Reuse::After), pe);
        let reach = self.reach(what.name)?;
        let signal = signal.into().update(value, op)?;
        let call = |(dest, source): &mut (D, S), stream: StreamRef<'_>| {
            reach.ready(what.name, source, Direction::Put, stream)?;
            reach.put_signal(dest, source, signal, pe, stream, Reuse::After)
        };
        Enqueued::begin(reach, what, (dest, source), stream, call)
    }

    /// As [`Queue::signal_op`](crate::Queue::signal_op).
    ///
    /// # Errors
    /// As [`put_on_stream`](Self::put_on_stream).
    #[doc(alias = "nvshmemx_signal_op_on_stream")]
    pub fn signal_op_on_stream<'s>(
        &self,
        signal: impl Into<SignalRef<'s>>,
        value: u64,
        op: SignalOp,
        pe: usize,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'_, ()>> {
        let signal = signal.into().update(value, op)?;
        self.alone(SIGNAL_OP, Some(pe), stream, |reach, stream| {
            reach.signal_op(signal, pe, stream)
        })
    }

    /// As [`Queue::signal_wait_until`](crate::Queue::signal_wait_until).
    ///
    /// # Errors
    /// As there, and as [`put_on_stream`](Self::put_on_stream).
    #[doc(alias = "nvshmemx_signal_wait_until_on_stream")]
    pub fn signal_wait_until_on_stream<'s>(
        &self,
        signal: impl Into<SignalRef<'s>>,
        comparison: Comparison,
        value: u64,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'_, ()>> {
        let signal = signal.into().place()?;
        self.alone(SIGNAL_WAIT, None, stream, |reach, stream| {
            let backend = reach.backend;
            backend.signal_wait_until(signal, comparison, value, stream)
        })
    }

    /// As [`Queue::quiet`](crate::Queue::quiet).
    ///
    /// # Errors
    /// As [`put_on_stream`](Self::put_on_stream).
    #[doc(alias = "nvshmemx_quiet_on_stream")]
    pub fn quiet_on_stream(&self, stream: &impl Ordered) -> Result<Enqueued<'_, ()>> {
        let name = Point::Quiet.name(Order::On(stream.stream_ref()));
        self.alone(name, None, stream, |reach, stream| {
            reach.backend.point(Point::Quiet, Order::On(stream))
        })
    }

    /// As [`Queue::barrier_all`](crate::Queue::barrier_all). Collective.
    ///
    /// # Errors
    /// As [`put_on_stream`](Self::put_on_stream).
    #[doc(alias = "nvshmemx_barrier_all_on_stream")]
    pub fn barrier_all_on_stream(&self, stream: &impl Ordered) -> Result<Enqueued<'_, ()>> {
        self.all_on_stream(Point::BarrierAll, stream)
    }

    /// As [`Queue::sync_all`](crate::Queue::sync_all). Collective.
    ///
    /// # Errors
    /// As [`put_on_stream`](Self::put_on_stream).
    #[doc(alias = "nvshmemx_sync_all_on_stream")]
    pub fn sync_all_on_stream(&self, stream: &impl Ordered) -> Result<Enqueued<'_, ()>> {
        self.all_on_stream(Point::SyncAll, stream)
    }

    /// Enqueues what the streams of all PEs come to, after what the team of all PEs is doing.
    fn all_on_stream(&self, point: Point, stream: &impl Ordered) -> Result<Enqueued<'_, ()>> {
        let name = point.name(Order::On(stream.stream_ref()));
        let world = &self.pe().world().in_use;
        let enqueued = self.alone(name, None, stream, |reach, stream| {
            world.order_after(name, stream)?;
            reach.backend.point(point, Order::On(stream))?;
            // Until its end is known.
            world.lose();
            Ok(())
        })?;
        world.leave(Some(enqueued.mark()));
        Ok(enqueued)
    }

    /// Enqueues what needs no memory of its own.
    fn alone(
        &self,
        name: &'static str,
        pe: Option<usize>,
        stream: &impl Ordered,
        call: impl FnOnce(&Reach<'_>, StreamRef<'_>) -> Result<()>,
    ) -> Result<Enqueued<'_, ()>> {
        let reach = self.reach(name)?;
        let call = |_: &mut (), stream: StreamRef<'_>| call(&reach, stream);
        Enqueued::begin(reach, What { name, pe }, (), stream, call)
    }
}
