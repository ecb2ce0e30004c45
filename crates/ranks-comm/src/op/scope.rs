//! Operations on borrowed memory: all of them are complete when the scope ends, on every path.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use inner::{Inner, RequestSlot};

use crate::call::record::{self, Call};
use crate::communicator::Communicator;
use crate::data::datatype::TypeOf;
use crate::data::element::Pod;
use crate::data::raw_slice::{OpInfo, RawSlice, receive_of};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::op::mpi::batch::Rooms;
use crate::result::{Error, Result};
use crate::transport::backend::StartedOp;
use crate::transport::mpi::SendMode;

pub use request::{Borrowed, ScopedRequest};

mod batches;
mod give_up;
mod inner;
mod request;
mod rest;
mod views;

/// A scope of operations on memory that outlives it; from [`Communicator::scope`].
///
/// Each operation takes a slice and returns a [`ScopedRequest`], which holds the slice until it is
/// waited for and then gives it back, so that a loop can alternate two buffers. Operations that
/// nobody waits for are completed when the scope ends.
///
/// Up to 64 pending operations need no heap allocation over MPI. A scope stays on its thread:
///
/// ```compile_fail,E0277
/// # use ranks::{Communicator, Error};
/// # fn elsewhere(world: &Communicator) {
/// world.scope(|s| {
///     std::thread::scope(|threads| {
///         threads.spawn(|| s.isend(&[1u8], 0, 0).map(drop));
///     });
///     Ok::<(), Error>(())
/// });
/// # }
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    inner: &'scope Inner<'scope>,
    /// Neither lifetime may be shortened or lengthened.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl Communicator {
    /// Starts operations on borrowed slices in `f`, and returns when all of them are complete.
    ///
    /// ```
    /// # use ranks::{Communicator, Result};
    /// fn shift(world: &Communicator, mine: &[f64], theirs: &mut [f64]) -> Result<()> {
    ///     let (rank, size) = (world.rank(), world.size());
    ///     world.scope(|s| {
    ///         s.irecv(theirs, (rank + size - 1) % size, 0)?;
    ///         s.isend(mine, (rank + 1) % size, 0)?;
    ///         Ok(())
    ///     })
    /// }
    /// # ranks::run(|world| shift(&world, &[1.0], &mut [0.0])).unwrap();
    /// ```
    ///
    /// A buffer must exist before the scope starts:
    ///
    /// ```compile_fail,E0597
    /// # use ranks::{Communicator, Result};
    /// # fn inside(world: &Communicator) -> Result<()> {
    /// world.scope(|s| {
    ///     let mut mine = [0u8; 8];
    ///     s.irecv(&mut mine, 0, 0)?; // it would be gone before the message comes
    ///     Ok(())
    /// })
    /// # }
    /// ```
    ///
    /// and cannot be used while an operation is pending on it:
    ///
    /// ```compile_fail,E0502
    /// # use ranks::{Communicator, Result};
    /// # fn inside(world: &Communicator) -> Result<()> {
    /// let mut mine = [0u8; 8];
    /// world.scope(|s| {
    ///     let request = s.irecv(&mut mine, 0, 0)?;
    ///     println!("{mine:?}"); // a message may just be arriving there
    ///     request.wait()?;
    ///     Ok(())
    /// })
    /// # }
    /// ```
    ///
    /// At a [time limit](crate::Communicator::set_time_limit), and where ranks are found to have
    /// begun different operations, all pending operations are given up: receives are cancelled, and
    /// if any other operation is not complete after a moment, the job is aborted.
    ///
    /// If `f` returns an error, receives that have no message are cancelled, because it may never
    /// come, and all other operations are waited for. The same holds if `f` panics; but an
    /// operation that is not complete after ten seconds then aborts the job, since memory that a
    /// library may still use cannot be given back.
    ///
    /// # Errors
    /// That of `f`, or of an operation that nobody waited for. Those are completed together without
    /// their statuses: the error tells that one has failed, but not how much arrived, nor whether
    /// it was a whole number of elements. Wait for a request where that matters.
    #[inline]
    pub fn scope<'env, R, E, F>(&'env self, f: F) -> Result<R, E>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R, E>,
        E: From<Error>,
    {
        let rooms = Rooms::new();
        let inner = Inner::new(self, &rooms);
        let result = {
            let scope = Scope {
                inner: &inner,
                scope: PhantomData,
                env: PhantomData,
            };
            f(&scope)
        };
        match result {
            Ok(value) => {
                if inner.finish()? {
                    // There is nothing to drop.
                    std::mem::forget(inner);
                }
                Ok(value)
            }
            Err(error) => {
                inner.finish_after_error();
                Err(error)
            }
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    /// The communicator of the scope.
    #[must_use]
    pub fn communicator(&self) -> &'scope Communicator {
        self.inner.comm
    }

    /// Starts a nonblocking send of `data`.
    ///
    /// # Errors
    /// As [`Communicator::isend`].
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Isend`).
    #[doc(alias = "MPI_Isend")]
    #[inline(always)]
    pub fn isend<T: Pod>(
        &'scope self,
        data: &'scope [T],
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<ScopedRequest<'scope, &'scope [T]>> {
        const OPERATION: &str = "MPI_Isend";
        let dest = self.inner.comm.destination(OPERATION, dest)?;
        self.inner.comm.check_tag(OPERATION, tag)?;
        let (call, items) = isend_of(data, dest, tag);
        let fast_path = || {
            Some((
                self.inner.batch.room()?,
                self.inner.comm.fast_path_posted(call, items)?,
            ))
        };
        let place = match fast_path() {
            Some((room, comm)) => {
                // SAFETY: the slice is borrowed for the scope, whose operations are over when it
                // ends.
                RequestSlot::Batch(unsafe { self.inner.batch.isend(comm, room, data, dest, tag)? })
            }
            None => self.isend_out_of_line(data, dest, tag)?,
        };
        Ok(self.request(place, data.as_ptr().cast_mut().cast(), data.len()))
    }

    /// Starts a nonblocking synchronous send of `data`: complete when the matching receive has
    /// started.
    ///
    /// # Errors
    /// As [`Communicator::issend`].
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Issend`).
    #[doc(alias = "MPI_Issend")]
    pub fn issend<T: Pod>(
        &'scope self,
        data: &'scope [T],
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<ScopedRequest<'scope, &'scope [T]>> {
        let dest = self
            .inner
            .comm
            .destination(SendMode::Synchronous.role().operation, dest)?;
        let place = self.send_slow(SendMode::Synchronous, data, dest, tag)?;
        Ok(self.request(place, data.as_ptr().cast_mut().cast(), data.len()))
    }

    /// Starts a nonblocking receive into `buf`.
    ///
    /// # Errors
    /// As [`Communicator::irecv`].
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Irecv`).
    #[doc(alias = "MPI_Irecv")]
    #[inline(always)]
    pub fn irecv<T: Pod>(
        &'scope self,
        buf: &'scope mut [T],
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        let role = receive_of::<T>();
        let source = self.inner.comm.source(role.operation, source)?;
        let tag = self.inner.comm.tag(role.operation, tag)?;
        let length = buf.len();
        // SAFETY: the slice is borrowed for the scope, whose operations are over when it ends; the
        // request has the same pointer.
        let span = unsafe { RawSlice::of(buf) };
        let call = irecv_of::<T>(length, source, tag);
        let fast_path = || {
            // MPICH 4.0 says of a message from nobody that it is from rank 0. Of one from any rank
            // the status is needed, see `transport/mpi/recv.rs`.
            if !matches!(source, Source::Rank(_)) {
                return None;
            }
            let room = self.inner.batch.room()?;
            Some((
                room,
                self.inner
                    .comm
                    .fast_path_receive_posted(call, span.bytes())?,
            ))
        };
        let place = match fast_path() {
            Some((room, comm)) => {
                let batch = &self.inner.batch;
                RequestSlot::Batch(batch.irecv::<T>(&comm, room, role, span, source, tag)?)
            }
            None => self.irecv_out_of_line::<T>(role, span, length, source, tag)?,
        };
        Ok(self.request(place, span.start().cast(), length))
    }

    /// Starts an operation of a sibling crate, and keeps it until it is complete.
    ///
    /// # Errors
    /// That of `begin`, which has started nothing then.
    ///
    /// # Safety
    /// The memory that the operation works on is borrowed for `'scope`; `buffer` is the part to be
    /// given back, borrowed to be written to. The operation comes to it by way of the same pointer,
    /// and nothing else does.
    #[doc(hidden)]
    #[inline(always)]
    #[expect(
        clippy::mut_from_ref,
        reason = "what is given back is what the pointer was made of"
    )]
    pub unsafe fn begun<T>(
        &'scope self,
        role: &'static OpInfo,
        buffer: NonNull<[T]>,
        begin: impl FnOnce() -> Result<StartedOp>,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        let place = self.inner.begin_other(role, begin)?;
        Ok(self.request(place, buffer.as_ptr().cast(), buffer.len()))
    }

    /// As [`isend`](Self::isend), if the first batch is full or the fast path closed.
    #[cold]
    #[inline(never)]
    fn isend_out_of_line<T: Pod>(
        &self,
        data: &'scope [T],
        dest: Destination,
        tag: i32,
    ) -> Result<RequestSlot> {
        let (call, items) = isend_of(data, dest, tag);
        if self.inner.batch.room().is_none()
            && let Some(comm) = self.inner.comm.fast_path_posted(call, items)
        {
            return self.inner.begin_in_batches(|batch, room| {
                // SAFETY: the slice is borrowed for the scope, whose operations are over when it
                // ends.
                unsafe { batch.isend(comm, room, data, dest, tag) }
            });
        }
        self.send_slow(SendMode::Standard, data, dest, tag)
    }

    /// As [`irecv`](Self::irecv), if the first batch is full or the fast path closed.
    #[cold]
    #[inline(never)]
    fn irecv_out_of_line<T: Pod>(
        &self,
        role: &'static OpInfo,
        span: RawSlice,
        length: usize,
        source: Source,
        tag: Tag,
    ) -> Result<RequestSlot> {
        let call = irecv_of::<T>(length, source, tag);
        if matches!(source, Source::Rank(_))
            && self.inner.batch.room().is_none()
            && let Some(comm) = self.inner.comm.fast_path_receive_posted(call, span.bytes())
        {
            return self.inner.begin_in_batches(|batch, room| {
                batch.irecv::<T>(&comm, room, role, span, source, tag)
            });
        }
        self.recv_slow::<T>(span, source, tag)
    }

    #[cold]
    #[inline(never)]
    fn send_slow<T: Pod>(
        &self,
        mode: SendMode,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<RequestSlot> {
        // SAFETY: the slice is borrowed for the scope, whose operations are over when it ends.
        let begin = || unsafe { self.inner.comm.begin_send(mode, data, dest, tag) };
        self.inner.begin(begin)
    }

    #[cold]
    #[inline(never)]
    fn recv_slow<T: Pod>(&self, span: RawSlice, source: Source, tag: Tag) -> Result<RequestSlot> {
        let begin = || self.inner.comm.begin_recv::<T>(span, source, tag);
        self.inner.begin(begin)
    }

    #[inline(always)]
    fn request<B>(
        &'scope self,
        place: RequestSlot,
        start: *mut (),
        length: usize,
    ) -> ScopedRequest<'scope, B> {
        ScopedRequest::new(self.inner, place, start, length)
    }
}

/// A send as it is recorded, and the number of its items.
#[inline(always)]
fn isend_of<T: Pod>(data: &[T], dest: Destination, tag: i32) -> (Call, usize) {
    let call = Call::of(SendMode::Standard.nonblocking_kind::<T>())
        .count_u32(data.len())
        .to(dest, tag);
    (call, data.len() * TypeOf::<T>::items())
}

/// A receive as it is recorded.
#[inline(always)]
fn irecv_of<T: Pod>(length: usize, source: Source, tag: Tag) -> Call {
    Call::of(const { &record::Kind::message::<T>("MPI_Irecv") })
        .count_u32(length)
        .from(source, tag)
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}
