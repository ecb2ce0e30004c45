//! An operation of a scope: it holds its slice, and gives it back on completion.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use super::{Inner, RequestSlot};
use crate::call::limit::Pause;
use crate::communicator::Communicator;
use crate::result::{Result, Status};

/// An operation of a [`Scope`](crate::Scope) on a slice of type `B`.
///
/// Dropping it leaves the operation pending; it is completed at the end of the scope.
pub struct ScopedRequest<'scope, B> {
    inner: &'scope Inner<'scope>,
    place: RequestSlot,
    /// The slice, as an address: nobody may hold a reference to it while it is in use.
    start: *mut (),
    length: usize,
    /// The outcome, if a test has found it complete.
    over: Option<Result<Status>>,
    buffer: PhantomData<B>,
}

/// The slice that a [`ScopedRequest`] holds: `&[T]` or `&mut [T]`.
pub trait Borrowed: sealed::Sealed {}

mod sealed {
    pub trait Sealed: Sized {
        /// # Safety
        /// Address and length are those of a value of this type that was given up for them.
        unsafe fn from_parts(start: *mut (), length: usize) -> Self;
    }
}

impl<T> Borrowed for &[T] {}
impl<T> Borrowed for &mut [T] {}

impl<T> sealed::Sealed for &[T] {
    unsafe fn from_parts(start: *mut (), length: usize) -> Self {
        // SAFETY: by this function's contract.
        unsafe { std::slice::from_raw_parts(start.cast_const().cast(), length) }
    }
}

impl<T> sealed::Sealed for &mut [T] {
    unsafe fn from_parts(start: *mut (), length: usize) -> Self {
        // SAFETY: by this function's contract.
        unsafe { std::slice::from_raw_parts_mut(start.cast(), length) }
    }
}

impl<'scope, B> ScopedRequest<'scope, B> {
    /// An operation on the slice of that address and length, which was given up for it.
    #[inline(always)]
    pub(super) fn new(
        inner: &'scope Inner<'scope>,
        place: RequestSlot,
        start: *mut (),
        length: usize,
    ) -> Self {
        Self {
            inner,
            place,
            start,
            length,
            over: None,
            buffer: PhantomData,
        }
    }
}

impl<B: Borrowed> ScopedRequest<'_, B> {
    pub(crate) fn comm(&self) -> &Communicator {
        self.inner.comm
    }

    /// As [`PendingOp::is_in_time`](crate::transport::pending_op::PendingOp::is_in_time).
    pub(crate) fn is_in_time(&self, waiting: Instant) -> Result<()> {
        match self.over {
            Some(_) => Ok(()),
            None => self.inner.is_in_time(self.place, waiting),
        }
    }

    /// Waits until the operation is complete, and gives the slice back.
    ///
    /// # Errors
    /// As [`Request::wait`](crate::Request::wait). With an error the slice stays in use until the
    /// scope ends.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    #[doc(alias = "MPI_Wait")]
    pub fn wait(mut self) -> Result<(B, Status)> {
        let status = match self.over.take() {
            Some(outcome) => outcome?,
            None => self.inner.wait(self.place)?,
        };
        // SAFETY: made of a value of type `B` that was given up for it; the operation is over.
        let buffer = unsafe { B::from_parts(self.start, self.length) };
        Ok((buffer, status))
    }

    /// Tests for completion. Nonblocking; after `true`, [`wait`](Self::wait) does not block.
    ///
    /// # Errors
    /// As [`Request::test`](crate::Request::test).
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Test`).
    #[doc(alias = "MPI_Test")]
    pub fn test(&mut self) -> Result<bool> {
        if self.over.is_none() {
            self.over = self.inner.test(self.place)?;
        }
        Ok(self.over.is_some())
    }

    /// As [`test`](Self::test), but waits up to `limit`.
    ///
    /// # Errors
    /// As [`Request::test`](crate::Request::test).
    pub fn wait_timeout(&mut self, limit: Duration) -> Result<bool> {
        Pause::until(limit, &mut || self.test())
    }
}

/// An error that nobody has waited for is returned at the end of the scope.
impl<B> Drop for ScopedRequest<'_, B> {
    #[inline]
    fn drop(&mut self) {
        if let Some(Err(error)) = self.over.take() {
            self.inner.fails(error);
        }
    }
}

impl<B> fmt::Debug for ScopedRequest<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedRequest")
            .field("over", &self.over.is_some())
            .finish_non_exhaustive()
    }
}
