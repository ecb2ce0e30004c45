//! Operations that a set of pending ones may have.

use std::time::Instant;

use crate::communicator::Communicator;
use crate::op::request::Request;
use crate::op::scope::{Borrowed, ScopedRequest};
use crate::result::{Error, ErrorKind, Result, Status};
use crate::transport::pending_op::PendingOp;

/// Operations that can be put into [`Requests`](crate::Requests): [`Request`] and
/// [`ScopedRequest`].
pub trait Pending: sealed::Sealed<Memory = Self::Buffer> {
    /// The buffer that is given back on completion.
    type Buffer;
}

mod sealed {
    use super::{Communicator, Instant, PendingOp, Result, Status};

    pub trait Sealed: Sized {
        type Memory;

        /// Tests for completion.
        fn is_over(&mut self) -> Result<bool>;

        /// Waits, and takes it apart; an error means that this thread may not.
        fn end(self) -> Result<(Self::Memory, Result<Status>)>;

        /// As [`end`](Self::end), after another wait of the same call has come to its time limit:
        /// a receive is cancelled.
        fn end_late(self) -> Result<(Self::Memory, Result<Status>)>;

        /// The communicator of the operation.
        fn comm(&self) -> &Communicator;

        /// Returns an error if it has been waited for since `waiting`, and not all ranks have come
        /// to it within the limit of comparisons.
        fn is_in_time(&mut self, waiting: Instant) -> Result<()>;

        /// The pending operation, if the request itself keeps it.
        fn flight(&mut self) -> Option<CallInFlight<'_>>;
    }

    /// A pending operation, opaque to other crates.
    #[derive(Debug)]
    pub struct CallInFlight<'a>(pub(crate) &'a mut PendingOp);
}

impl<B: Send + 'static> Pending for Request<B> {
    type Buffer = B;
}

impl<B: Send + 'static> sealed::Sealed for Request<B> {
    type Memory = B;

    fn is_over(&mut self) -> Result<bool> {
        self.test()
    }

    fn end(self) -> Result<(B, Result<Status>)> {
        self.complete()
    }

    fn end_late(self) -> Result<(B, Result<Status>)> {
        self.complete_late(late())
    }

    fn comm(&self) -> &Communicator {
        Request::comm(self)
    }

    fn is_in_time(&mut self, waiting: Instant) -> Result<()> {
        Request::is_in_time(self, waiting)
    }

    fn flight(&mut self) -> Option<sealed::CallInFlight<'_>> {
        Some(sealed::CallInFlight(self.op_mut().1))
    }
}

impl<B: Borrowed> Pending for ScopedRequest<'_, B> {
    type Buffer = Option<B>;
}

impl<B: Borrowed> sealed::Sealed for ScopedRequest<'_, B> {
    type Memory = Option<B>;

    fn is_over(&mut self) -> Result<bool> {
        self.test()
    }

    fn end(self) -> Result<(Option<B>, Result<Status>)> {
        // With an error the slice stays in use until the scope ends.
        Ok(match self.wait() {
            Ok((buffer, status)) => (Some(buffer), Ok(status)),
            Err(error) => (None, Err(error)),
        })
    }

    fn end_late(self) -> Result<(Option<B>, Result<Status>)> {
        Ok((None, Err(late())))
    }

    fn comm(&self) -> &Communicator {
        ScopedRequest::comm(self)
    }

    fn is_in_time(&mut self, waiting: Instant) -> Result<()> {
        ScopedRequest::is_in_time(self, waiting)
    }

    fn flight(&mut self) -> Option<sealed::CallInFlight<'_>> {
        None
    }
}

#[cold]
fn late() -> Error {
    let text = "not complete when the wait for another operation timed out";
    Error::new(ErrorKind::TimedOut, "MPI_Waitall", text)
}
