//! Operations of a team that own their memory, enqueued on a stream.

use ranks_comm::Result;

use super::Team;
use crate::backend::Order;
use crate::backend::stream::{Ordered, StreamRef};
use crate::heap::arguments::{Symmetric, SymmetricMut};
use crate::stream::enqueued::{Enqueued, Owned};
use crate::stream::reach::What;
use crate::team::element::Element;
use crate::team::movement::{Moved, Movement};
use crate::team::reduction::Reduction;

impl<'p> Team<'p> {
    /// As [`barrier`](Self::barrier), of what is on `stream` before and after it.
    ///
    /// # Errors
    /// As [all operations](Self#operations); [`Argument`](ranks_comm::ErrorKind::Argument) for a
    /// stream of another PE, device or backend. So below.
    #[doc(alias = "nvshmemx_barrier_on_stream")]
    pub fn barrier_on_stream(&self, stream: &impl Ordered) -> Result<Enqueued<'p, ()>> {
        self.enqueue(Movement::Barrier, (), stream, |(), _| Ok(None))
    }

    /// As [`sync`](Self::sync), of what is on `stream` before and after it.
    ///
    /// # Errors
    /// As [`barrier_on_stream`](Self::barrier_on_stream).
    #[doc(alias = "nvshmemx_team_sync_on_stream")]
    pub fn sync_on_stream(&self, stream: &impl Ordered) -> Result<Enqueued<'p, ()>> {
        self.enqueue(Movement::Sync, (), stream, |(), _| Ok(None))
    }

    /// As [`broadcast`](Self::broadcast), with memory that it owns.
    ///
    /// # Errors
    /// As [`barrier_on_stream`](Self::barrier_on_stream). The buffers are then dropped. So below.
    #[doc(alias = "nvshmemx_broadcastmem_on_stream")]
    pub fn broadcast_on_stream<D, S>(
        &self,
        dest: D,
        source: S,
        root: usize,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'p, (D, S)>>
    where
        D: SymmetricMut + Owned,
        S: Symmetric<Element = D::Element> + Owned,
    {
        self.enqueue_moves(Movement::Broadcast(root), dest, source, stream)
    }

    /// As [`fcollect`](Self::fcollect), with memory that it owns.
    ///
    /// # Errors
    /// As [`broadcast_on_stream`](Self::broadcast_on_stream).
    #[doc(alias = "nvshmemx_fcollectmem_on_stream")]
    pub fn fcollect_on_stream<D, S>(
        &self,
        dest: D,
        source: S,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'p, (D, S)>>
    where
        D: SymmetricMut + Owned,
        S: Symmetric<Element = D::Element> + Owned,
    {
        self.enqueue_moves(Movement::Fcollect, dest, source, stream)
    }

    /// As [`alltoall`](Self::alltoall), with memory that it owns.
    ///
    /// # Errors
    /// As [`broadcast_on_stream`](Self::broadcast_on_stream).
    #[doc(alias = "nvshmemx_alltoallmem_on_stream")]
    pub fn alltoall_on_stream<D, S>(
        &self,
        dest: D,
        source: S,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'p, (D, S)>>
    where
        D: SymmetricMut + Owned,
        S: Symmetric<Element = D::Element> + Owned,
    {
        self.enqueue_moves(Movement::Alltoall, dest, source, stream)
    }

    /// As [`reduce`](Self::reduce), with memory that it owns.
    ///
    /// # Errors
    /// As [`broadcast_on_stream`](Self::broadcast_on_stream).
    #[doc(alias = "nvshmemx_float_sum_reduce_on_stream")]
    pub fn reduce_on_stream<T, D, S, O>(
        &self,
        dest: D,
        source: S,
        op: O,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'p, (D, S)>>
    where
        T: Element,
        D: SymmetricMut<Element = T> + Owned,
        S: Symmetric<Element = T> + Owned,
        O: Reduction<T>,
    {
        self.enqueue_moves(Movement::reduce::<T, O>(op), dest, source, stream)
    }

    /// As [`reduce_in_place`](Self::reduce_in_place), with memory that it owns.
    ///
    /// # Errors
    /// As [`broadcast_on_stream`](Self::broadcast_on_stream).
    #[doc(alias = "nvshmemx_float_sum_reduce_on_stream")]
    pub fn reduce_in_place_on_stream<T, B, O>(
        &self,
        buffer: B,
        op: O,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'p, B>>
    where
        T: Element,
        B: SymmetricMut<Element = T> + Owned,
        O: Reduction<T>,
    {
        let movement = Movement::reduce::<T, O>(op);
        let n_pes = self.n_pes();
        self.enqueue(movement, buffer, stream, |buffer, order| {
            movement.check(n_pes, order, buffer, buffer)
        })
    }

    /// As [`reducescatter`](Self::reducescatter), with memory that it owns.
    ///
    /// # Errors
    /// As [`broadcast_on_stream`](Self::broadcast_on_stream).
    #[doc(alias = "nvshmemx_float_sum_reducescatter_on_stream")]
    pub fn reducescatter_on_stream<T, D, S, O>(
        &self,
        dest: D,
        source: S,
        op: O,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'p, (D, S)>>
    where
        T: Element,
        D: SymmetricMut<Element = T> + Owned,
        S: Symmetric<Element = T> + Owned,
        O: Reduction<T>,
    {
        self.enqueue_moves(Movement::reducescatter::<T, O>(op), dest, source, stream)
    }

    fn enqueue_moves<D, S>(
        &self,
        movement: Movement,
        dest: D,
        source: S,
        stream: &impl Ordered,
    ) -> Result<Enqueued<'p, (D, S)>>
    where
        D: Symmetric + Owned,
        S: Symmetric<Element = D::Element> + Owned,
    {
        let n_pes = self.n_pes();
        let buffers = (dest, source);
        self.enqueue(movement, buffers, stream, |(dest, source), order| {
            movement.check(n_pes, order, dest, source)
        })
    }

    /// Enqueues it with buffers that it owns, after what the team is doing.
    fn enqueue<B: Owned>(
        &self,
        movement: Movement,
        buffers: B,
        stream: &impl Ordered,
        check: impl for<'b> FnOnce(&'b B, Order<'_>) -> Result<Option<Moved<'b>>>,
    ) -> Result<Enqueued<'p, B>> {
        let name = movement.name(Order::On(stream.stream_ref()));
        let reach = self.heap.reach(name)?;
        let what = What::of(name);
        let state = &*self.state;
        let mut is_begun = false;
        let call = |buffers: &mut B, stream: StreamRef<'_>| {
            let order = Order::On(stream);
            let moved = check(buffers, order)?;
            if movement.is_nothing(moved) {
                return Ok(());
            }
            state.in_use.order_after(name, stream)?;
            let backend = reach.backend;
            backend.moves(state.handle, movement, moved, order)?;
            // Until its end is known.
            state.in_use.lose();
            is_begun = true;
            Ok(())
        };
        let enqueued = Enqueued::begin(reach, what, buffers, stream, call)?;
        if is_begun {
            state.in_use.leave(Some(enqueued.mark()));
        }
        Ok(enqueued)
    }
}
