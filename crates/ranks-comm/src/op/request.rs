//! Requests: pending operations, each with the memory that it works on.
#![allow(unsafe_code)]

use std::fmt;
use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

use request_op::RequestOp;

use crate::communicator::Communicator;
use crate::data::element::Pod;
use crate::data::in_flight::InFlight;
use crate::data::raw_slice::{OpInfo, RecvStorage};
use crate::result::status::EMPTY_STATUS;
use crate::result::{Error, ErrorKind, Result, Status};
use crate::transport::backend::{Backend, StartedOp};
use crate::transport::pending_op::PendingOp;

pub(crate) mod request_op;

/// A pending operation, which owns its buffer of type `B` until it is complete.
///
/// From [`Communicator::isend`], [`irecv`](Communicator::irecv) and their kin. [`wait`](Self::wait)
/// gives the buffer back. The buffer is inaccessible until then, so that nothing is read that is
/// still to be written. `mem::forget` leaks both, and MPI is not finalized then, which is an error
/// of [`run`](crate::run).
///
/// A request that is dropped before it is complete is left to the runtime with its buffer: dropping
/// neither waits nor frees memory that is in use. The operation stays pending (a message that
/// arrives for it is received and discarded) until the runtime ends; what is not complete by then
/// is cancelled or reported.
///
/// MPI 5.0 §3.7.
#[doc(alias = "MPI_Request")]
#[doc(alias = "MPI_Request_free")]
#[doc(alias = "MPI_REQUEST_NULL")]
#[must_use = "an operation is complete only after a wait"]
pub struct Request<B: Send + 'static>(ManuallyDrop<Parts<B>>);

/// The parts of a request. It is dropped in op, and they are not: a wait takes it to pieces.
pub(crate) struct Parts<B> {
    pub(crate) comm: Communicator,
    op: RequestOp<B>,
    pub(crate) buffer: InFlight<B>,
}

impl<B: Send + 'static> Request<B> {
    /// Starts an operation on the memory of `buffer`, whose address does not change when it is
    /// moved.
    ///
    /// # Errors
    /// That of `begin`, which has started nothing then.
    pub(crate) fn begin(
        comm: &Communicator,
        buffer: B,
        begin: impl FnOnce(&mut B) -> Result<PendingOp>,
    ) -> Result<Self> {
        let (buffer, op) = InFlight::begun(buffer, begin)?;
        Ok(Self::of(comm, RequestOp::of(op), buffer))
    }

    /// Starts an operation of a sibling crate.
    ///
    /// # Errors
    /// That of `begin`, which has started nothing then.
    ///
    /// # Safety
    /// The memory that is worked on belongs to `buffer`, and stays where it is when that is moved.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn begun(
        comm: &Communicator,
        role: &'static OpInfo,
        buffer: B,
        begin: impl FnOnce(&mut B) -> Result<StartedOp>,
    ) -> Result<Self> {
        let (buffer, begun) = InFlight::begun(buffer, begin)?;
        match (begun, comm.backend()) {
            (StartedOp::Mpi(cell), Backend::Mpi(_)) => {
                Ok(Self::of(comm, RequestOp::plain(cell, role, 0), buffer))
            }
            (begun, _) => Self::begun_otherwise(comm, role, begun, buffer),
        }
    }

    /// As [`begun`](Self::begun), if it is not a request of the library and nothing else.
    #[cold]
    #[inline(never)]
    fn begun_otherwise(
        comm: &Communicator,
        role: &'static OpInfo,
        begun: StartedOp,
        buffer: InFlight<B>,
    ) -> Result<Self> {
        let op = PendingOp::begun(comm, role, begun);
        Ok(Self::of(comm, RequestOp::of(op), buffer))
    }

    /// The request of a pending operation on that memory.
    #[inline(always)]
    pub(crate) fn of(comm: &Communicator, op: RequestOp<B>, buffer: InFlight<B>) -> Self {
        Self(ManuallyDrop::new(Parts {
            comm: comm.clone(),
            op,
            buffer,
        }))
    }

    /// The parts, for an owner that completes the operation.
    #[inline(always)]
    pub(crate) fn into_parts(self) -> Parts<B> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the request is not dropped, and not used any more.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }

    /// Waits until the operation is complete. Returns the buffer and the status.
    ///
    /// The status of a send has no content. With an error the buffer is lost;
    /// [`complete`](Self::complete) returns both.
    ///
    /// # Errors
    /// Those of the operation: [`ErrorKind::Truncated`] if the message is longer than the buffer,
    /// [`ErrorKind::Type`] if it is not a whole number of elements, in process
    /// [`ErrorKind::PeerFailed`] if it can never come, otherwise what the library reports. At a
    /// time limit, with [`ErrorKind::TimedOut`], a receive is cancelled: it has taken no message.
    /// Other operations are still pending then and owned by the runtime, and so are all with
    /// [`ErrorKind::WrongThread`] and [`ErrorKind::Finalized`], and, unless it is complete, with
    /// [`ErrorKind::ProcFailed`] of a receive from any rank that another part of the program has
    /// started.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    #[doc(alias = "MPI_Wait")]
    #[inline(always)]
    pub fn wait(self) -> Result<(B, Status)> {
        self.end(
            |buffer, status| Ok((buffer, status)),
            |pending| {
                let (buffer, outcome) = pending.complete_slow()?;
                Ok((buffer, outcome?))
            },
        )
    }

    /// As [`wait`](Self::wait), but gives the buffer back even if the operation has failed, or was
    /// cancelled at a time limit.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`] and, of what is not a receive,
    /// [`ErrorKind::TimedOut`], as [`wait`](Self::wait) says.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    #[inline]
    pub fn complete(self) -> Result<(B, Result<Status>)> {
        self.end(
            |buffer, status| Ok((buffer, Ok(status))),
            Self::complete_slow,
        )
    }

    /// Waits on the fast path, if that is all there is to it.
    // Where this is inlined, a request is built in memory for `slow` alone.
    #[inline(always)]
    fn end<R>(self, fast: impl FnOnce(B, Status) -> R, slow: impl FnOnce(Self) -> R) -> R {
        let Parts { comm, op, buffer } = self.into_parts();
        let mut words = EMPTY_STATUS;
        match op.wait_fast(&comm, &mut words) {
            Ok((kind, over)) => {
                drop(comm);
                fast(buffer.give_back(over), Status::new(kind, words))
            }
            Err(op) => slow(Self(ManuallyDrop::new(Parts { comm, op, buffer }))),
        }
    }

    #[cold]
    #[inline(never)]
    fn complete_slow(mut self) -> Result<(B, Result<Status>)> {
        let (comm, op) = self.op_mut();
        match op.wait(comm) {
            Err(late) if late.kind() == ErrorKind::TimedOut => self.complete_late(late),
            waited => waited.and_then(|()| self.finish()),
        }
    }

    /// As [`complete`](Self::complete), after that error of the wait: a receive is cancelled.
    pub(crate) fn complete_late(mut self, late: Error) -> Result<(B, Result<Status>)> {
        let (comm, op) = self.op_mut();
        op.cancel_late(comm, late)?;
        self.finish()
    }

    /// As [`PendingOp::is_overdue`].
    #[cfg(feature = "async")]
    pub(crate) fn is_overdue(&self, waiting: Instant) -> bool {
        let op = self.0.op.op();
        op.is_some_and(|op| op.is_overdue(&self.0.comm, waiting))
    }

    /// As [`PendingOp::is_in_time`].
    pub(crate) fn is_in_time(&self, waiting: Instant) -> Result<()> {
        let op = self.0.op.op();
        op.map_or(Ok(()), |op| op.is_in_time(&self.0.comm, waiting))
    }

    /// As [`wait`](Self::wait); a receive that times out is cancelled.
    pub(crate) fn wait_or_cancel(mut self) -> Result<(B, Status)> {
        let (comm, op) = self.op_mut();
        op.wait_or_cancel(comm)?;
        let (buffer, outcome) = self.finish()?;
        Ok((buffer, outcome?))
    }

    /// Tests for completion. Nonblocking; after `true`, [`wait`](Self::wait) does not block.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`] and [`ErrorKind::Finalized`]. Errors of the operation itself are
    /// returned by `wait`. [`ErrorKind::ProcFailed`] of a receive from any rank that another part
    /// of the program has started: a rank that might have sent has failed, and the receive is still
    /// pending. [`Communicator::ack_failed`] acknowledges the failure.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Test`), ULFM (`MPIX_ERR_PROC_FAILED_PENDING`).
    #[doc(alias = "MPI_Test")]
    #[doc(alias = "MPI_Request_get_status")]
    pub fn test(&mut self) -> Result<bool> {
        let (comm, op) = self.op_mut();
        op.test(comm)
    }

    /// As [`test`](Self::test), but waits up to `limit`.
    ///
    /// # Errors
    /// As [`test`](Self::test).
    pub fn wait_timeout(&mut self, limit: Duration) -> Result<bool> {
        let (comm, op) = self.op_mut();
        op.wait_timeout(comm, limit)
    }

    /// Cancels a receive whose message has not arrived. Wait for the request as usual, and see
    /// [`Status::is_cancelled`]. A message that has arrived is received. Sends are not cancelled:
    /// libraries disagree about the effect, and the standard has deprecated it.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or what the library reports.
    ///
    /// MPI 5.0 §3.8.4 (`MPI_Cancel`).
    #[doc(alias = "MPI_Cancel")]
    pub fn cancel(&mut self) -> Result<()> {
        let (comm, op) = self.op_mut();
        op.cancel(comm)
    }

    /// The communicator of the operation; `None` if that was an
    /// [`Intercommunicator`](crate::Intercommunicator).
    #[must_use]
    pub fn communicator(&self) -> Option<&Communicator> {
        // An intercommunicator cannot be handed out as a `Communicator`.
        Some(&self.0.comm).filter(|comm| !comm.is_between())
    }

    /// The communicator, of either sort.
    pub(crate) fn comm(&self) -> &Communicator {
        &self.0.comm
    }

    /// The C name of the pending operation.
    pub(crate) fn operation(&self) -> &'static str {
        self.0.op.operation()
    }

    /// The operation, as any other than a plain one, and its communicator.
    pub(crate) fn op_mut(&mut self) -> (&Communicator, &mut PendingOp) {
        let Parts { comm, op, .. } = &mut *self.0;
        (comm, op.op_mut(comm))
    }

    /// Takes a complete operation apart.
    fn finish(self) -> Result<(B, Result<Status>)> {
        let Some(over) = self.0.op.ended() else {
            return Err(Error::new(
                ErrorKind::Argument,
                "MPI_Wait",
                "the operation is not complete",
            ));
        };
        let parts = self.into_parts();
        let mut other = parts.op.into_other(&parts.comm);
        // This may still put a message in its places in the buffer.
        let outcome = other.op.take();
        let buffer = parts.buffer.give_back(over);
        Ok(match (outcome, other.settle) {
            (Ok(landed), Some(settle)) => match landed.room {
                Some(room) => (settle(room), Ok(landed.status)),
                None => (buffer, Ok(landed.status)),
            },
            (Ok(landed), None) => (buffer, Ok(landed.status)),
            (Err(error), _) => (buffer, Err(error)),
        })
    }
}

impl<T: Pod + Send> Request<Vec<T>> {
    /// A receive that allocates its vector when the length is known.
    pub(crate) fn of_any_length(comm: &Communicator, op: PendingOp) -> Self {
        let op = RequestOp::other(op, Some(RecvStorage::into_initialised));
        Self::of(comm, op, InFlight::new(Vec::new()))
    }
}

impl<B: Send + 'static> Drop for Request<B> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the request is being dropped, and not used any more.
        let_go(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

/// Frees the buffer of a complete operation; leaves another to the runtime.
// By value: what only may drop a request need not have it in memory.
#[cold]
#[inline(never)]
fn let_go<B: Send + 'static>(parts: Parts<B>) {
    match parts.op.ended() {
        Some(over) => drop(parts.buffer.give_back(over)),
        None => parts
            .op
            .into_other(&parts.comm)
            .op
            .abandon(&parts.comm, parts.buffer.into_keep_alive()),
    }
}

impl<B: Send + 'static> fmt::Debug for Request<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.operation())
            .field("over", &self.0.op.ended().is_some())
            .finish_non_exhaustive()
    }
}
