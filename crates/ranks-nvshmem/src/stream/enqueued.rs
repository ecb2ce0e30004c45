//! An operation that was enqueued and goes on: it owns what it works on.

use std::fmt;
use std::time::Duration;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_cuda::{DeviceSlice, Event};

use crate::backend::block::Offset;
use crate::backend::stream::{Mark, Ordered};
use crate::heap::arguments::part::Part;
use crate::heap::arguments::{OnDevice, Symmetric, SymmetricMut};
use crate::heap::symmetric_vec::SymmetricVec;
use crate::stream::reach::{Reach, What};

/// An operation that was enqueued on a stream, with the buffers `B` that it works on.
///
/// They come back when it is over ([`wait`](Self::wait)), or in the order of another stream
/// ([`enqueue_wait`](Self::enqueue_wait)). If this is dropped before, the operation goes on, and
/// the buffers are put aside until it is over; `drop` does not wait.
///
/// ```compile_fail,E0382
/// # use ranks::nvshmem::{Nvshmem, PeStream, SymmetricVec};
/// # fn reused(pe: &Nvshmem<'_>, stream: &PeStream, all: SymmetricVec<'_, f64>, mine: SymmetricVec<'_, f64>) -> ranks::Result<()> {
/// drop(pe.put_on_stream(all, mine, 0, stream)?);
/// let values = mine.to_vec()?; // it is put from, and comes back by `wait` alone
/// # Ok(())
/// # }
/// ```
///
/// ```compile_fail,E0277
/// # use ranks::nvshmem::{Nvshmem, PeStream, SymmetricVec};
/// # fn borrowed(pe: &Nvshmem<'_>, stream: &PeStream, all: SymmetricVec<'_, f64>, mine: &SymmetricVec<'_, f64>) -> ranks::Result<()> {
/// drop(pe.put_on_stream(all, mine, 0, stream)?); // what is borrowed is for scopes
/// # Ok(())
/// # }
/// ```
#[must_use = "the buffers come back by `wait` or `enqueue_wait`"]
pub struct Enqueued<'c, B> {
    reach: Reach<'c>,
    what: What,
    mark: Mark,
    buffers: B,
}

/// Memory that a pending operation may own: a [`SymmetricVec`], a [`SymmetricPart`] of one, other
/// memory of the device ([`OnDevice`]), and pairs of such. The trait is sealed.
///
/// However it is dropped, its memory is not freed before the operation is over.
pub trait Owned: kept::Kept {}

mod kept {
    use ranks_cuda::Event;

    pub trait Kept {
        /// Somebody works on it until then.
        fn written_until(&mut self, event: &Event);
    }
}

impl<T: Pod> kept::Kept for SymmetricVec<'_, T> {
    /// The heap knows.
    fn written_until(&mut self, _event: &Event) {}
}
impl<T: Pod> Owned for SymmetricVec<'_, T> {}

impl<T: Pod> kept::Kept for SymmetricPart<'_, T> {
    /// The heap knows.
    fn written_until(&mut self, _event: &Event) {}
}
impl<T: Pod> Owned for SymmetricPart<'_, T> {}

impl<D: DeviceSlice + 'static> kept::Kept for OnDevice<D> {
    fn written_until(&mut self, event: &Event) {
        self.0.written_until(event);
    }
}
impl<D: DeviceSlice + 'static> Owned for OnDevice<D> {}

impl kept::Kept for () {
    fn written_until(&mut self, _event: &Event) {}
}
impl Owned for () {}

impl<A: Owned, B: Owned> kept::Kept for (A, B) {
    fn written_until(&mut self, event: &Event) {
        self.0.written_until(event);
        self.1.written_until(event);
    }
}
impl<A: Owned, B: Owned> Owned for (A, B) {}

impl<'c, B: Owned> Enqueued<'c, B> {
    /// Enqueues by `call` on `stream`, and keeps the buffers.
    pub(crate) fn begin(
        reach: Reach<'c>,
        what: What,
        mut buffers: B,
        stream: &impl Ordered,
        call: impl FnOnce(&mut B, crate::backend::stream::StreamRef<'_>) -> Result<()>,
    ) -> Result<Self> {
        let stream = reach.stream(what.name, stream)?;
        let entered = reach.enter(what.name)?;
        let called = call(&mut buffers, stream);
        drop(entered);
        // Something may be under way after a failure as well.
        let mark = match reach.mark(what.name, stream) {
            Ok(mark) => mark,
            Err(error) => {
                // Nobody knows when it is over: the buffers are left alone for ever.
                std::mem::forget(buffers);
                return Err(error);
            }
        };
        reach.pe.in_flight.add(mark.clone());
        if let Some(event) = mark.event() {
            buffers.written_until(event);
        }
        called.map(|()| Self {
            reach,
            what,
            mark,
            buffers,
        })
    }

    /// The point of the stream after which it is over.
    pub(crate) fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Waits until the operation is over here, for no longer than the heap's time limit.
    ///
    /// # Errors
    /// [`TimedOut`](ranks_comm::ErrorKind::TimedOut); what went wrong. The buffers are then put
    /// aside as by `drop`.
    pub fn wait(self) -> Result<B> {
        self.reach.finish(self.what, self.mark, None)?;
        Ok(self.buffers)
    }

    /// As [`wait`](Self::wait), for no longer than `limit`.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_for(self, limit: Duration) -> Result<B> {
        self.reach.finish(self.what, self.mark, Some(limit))?;
        Ok(self.buffers)
    }

    /// Returns whether the operation is complete.
    ///
    /// # Errors
    /// The error that the operation has failed with.
    pub fn is_done(&self) -> Result<bool> {
        self.mark.is_over(self.what.name)
    }

    /// Makes what is enqueued on `stream` from now on wait for the operation, and gives the buffers
    /// back for use there. It does not wait itself.
    ///
    /// # Errors
    /// [`Argument`](ranks_comm::ErrorKind::Argument) for a stream of another PE, device or backend;
    /// what the driver reports. The buffers are then put aside as by `drop`.
    pub fn enqueue_wait(self, stream: &impl Ordered) -> Result<B> {
        let stream = self.reach.stream(self.what.name, stream)?;
        stream.wait_for(&self.mark, self.what.name)?;
        Ok(self.buffers)
    }
}

impl<B> fmt::Debug for Enqueued<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enqueued")
            .field("operation", &self.what)
            .finish_non_exhaustive()
    }
}

/// Some elements of a [`SymmetricVec`] that it owns: a slice for operations that go on.
pub struct SymmetricPart<'c, T: Pod> {
    vec: SymmetricVec<'c, T>,
    from: usize,
    to: usize,
}

impl<'c, T: Pod> SymmetricPart<'c, T> {
    /// The elements of `vec` in `range`.
    ///
    /// # Errors
    /// [`Argument`](ranks_comm::ErrorKind::Argument) for a range that it does not have: `vec` is
    /// then dropped.
    pub fn of(vec: SymmetricVec<'c, T>, range: std::ops::Range<usize>) -> Result<Self> {
        let (from, to) = (range.start, range.end);
        vec.slice(range)?;
        Ok(Self { vec, from, to })
    }

    /// The whole again.
    #[must_use]
    pub fn into_vec(self) -> SymmetricVec<'c, T> {
        self.vec
    }
}

impl<T: Pod> Part for SymmetricPart<'_, T> {
    type Element = T;

    fn place(&self) -> Option<Offset<'_>> {
        let slice = self.vec.slice(self.from..self.to).ok()?;
        slice.span().place(size_of::<T>())
    }

    fn count(&self) -> usize {
        self.to - self.from
    }
}

impl<T: Pod> Symmetric for SymmetricPart<'_, T> {}
impl<T: Pod> SymmetricMut for SymmetricPart<'_, T> {}

impl<T: Pod> fmt::Debug for SymmetricPart<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{} of {:?}", self.from, self.to, self.vec)
    }
}
