//! An operation that was begun, with the memory that it works on.
#![allow(unsafe_code)]

use std::fmt;
use std::time::Duration;

use crate::backend::Begun;
use crate::communicator::Communicator;
use crate::element::Pod;
use crate::error::{Error, ErrorKind, Result};
use crate::flight::Flight;
use crate::in_flight::InFlight;
use crate::landing::{Role, Room};
use crate::status::Status;

/// An operation that is under way and owns its buffer of type `B` until it is over.
///
/// From [`Communicator::isend`], [`irecv`](Communicator::irecv) and their kin. [`wait`](Self::wait) gives the buffer
/// back. The buffer cannot be touched before, so nothing can be read that is still to be written, and `mem::forget`
/// only leaks it.
///
/// A request that is dropped before it is over is left to the runtime, buffer and all: dropping neither waits nor frees
/// what is still in use. The operation goes on (a message that arrives for it is received and thrown away) and has until
/// the runtime ends; what has not ended by then is cancelled or reported.
///
/// MPI 5.0 §3.7.
#[doc(alias = "MPI_Request")]
#[doc(alias = "MPI_Request_free")]
#[must_use = "an operation is over when it has been waited for"]
pub struct Request<B: Send + 'static> {
    comm: Communicator,
    flight: Flight,
    /// `None` when it was given back.
    buffer: Option<InFlight<B>>,
    /// Makes the buffer of a message of unknown length.
    settle: Option<fn(Room) -> B>,
}

impl<B: Send + 'static> Request<B> {
    /// Begins an operation on the memory of `buffer`, which stays where it is when that is moved.
    ///
    /// # Errors
    /// That of `begin`, which has begun nothing then.
    pub(crate) fn begin(
        comm: &Communicator,
        buffer: B,
        begin: impl FnOnce(&mut B) -> Result<Flight>,
    ) -> Result<Self> {
        let (buffer, flight) = InFlight::begun(buffer, begin)?;
        Ok(Self::of(comm, flight, buffer))
    }

    /// The same of a sibling crate.
    ///
    /// # Errors
    /// That of `begin`, which has begun nothing then.
    ///
    /// # Safety
    /// The memory that is worked on belongs to `buffer`, and stays where it is when that is moved.
    #[doc(hidden)]
    pub unsafe fn begun(
        comm: &Communicator,
        role: &'static Role,
        buffer: B,
        begin: impl FnOnce(&mut B) -> Result<Begun>,
    ) -> Result<Self> {
        let begin = |buffer: &mut B| begin(buffer).map(|begun| Flight::begun(comm, role, begun));
        Self::begin(comm, buffer, begin)
    }

    /// What is under way on that memory.
    pub(crate) fn of(comm: &Communicator, flight: Flight, buffer: InFlight<B>) -> Self {
        Self {
            comm: comm.clone(),
            flight,
            buffer: Some(buffer),
            settle: None,
        }
    }

    /// Waits until the operation is over, and gives the buffer and the status.
    ///
    /// The status of a send says nothing. With the error the buffer is lost; [`complete`](Self::complete) gives both.
    ///
    /// # Errors
    /// Those of the operation: [`ErrorKind::Truncated`] if the message is longer than the buffer,
    /// [`ErrorKind::Type`] if it is not a whole number of elements, in process [`ErrorKind::PeerFailed`] if it can never
    /// come, otherwise what the library reports. [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`] and, at a time limit,
    /// [`ErrorKind::TimedOut`] mean that the operation goes on without you; so does [`ErrorKind::ProcFailed`] of a receive from any rank that
    /// another part of the program has begun, unless it is over.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    #[doc(alias = "MPI_Wait")]
    pub fn wait(self) -> Result<(B, Status)> {
        let (buffer, outcome) = self.complete()?;
        Ok((buffer, outcome?))
    }

    /// As [`wait`](Self::wait), but gives the buffer back even if the operation has failed.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`] and [`ErrorKind::Finalized`]: the operation goes on without you.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    pub fn complete(mut self) -> Result<(B, Result<Status>)> {
        self.flight.wait(&self.comm)?;
        self.finish()
    }

    /// As [`wait`](Self::wait); a receive that comes to its time limit is cancelled.
    pub(crate) fn wait_or_cancel(mut self) -> Result<(B, Status)> {
        self.flight.wait_or_cancel(&self.comm)?;
        let (buffer, outcome) = self.finish()?;
        Ok((buffer, outcome?))
    }

    /// Whether the operation is over; does not wait. If it is, [`wait`](Self::wait) returns at once.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`] and [`ErrorKind::Finalized`]. How the operation itself went is told by `wait`.
    /// [`ErrorKind::ProcFailed`] of a receive from any rank that another part of the program has begun: a rank is lost that might have sent,
    /// and it goes on. [`Communicator::ack_failed`] takes note of that.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Test`), ULFM (`MPIX_ERR_PROC_FAILED_PENDING`).
    #[doc(alias = "MPI_Test")]
    #[doc(alias = "MPI_Request_get_status")]
    pub fn test(&mut self) -> Result<bool> {
        self.flight.test(&self.comm)
    }

    /// As [`test`](Self::test), but waits for up to `limit`.
    ///
    /// # Errors
    /// As [`test`](Self::test).
    pub fn wait_timeout(&mut self, limit: Duration) -> Result<bool> {
        self.flight.wait_timeout(&self.comm, limit)
    }

    /// Asks that a receive whose message has not come ends without it; then wait as ever, and look at
    /// [`Status::is_cancelled`]. A message that is there already is received. Sends go on: libraries do not agree on
    /// what cancelling one does, and the standard has deprecated it.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or what the library reports.
    ///
    /// MPI 5.0 §3.8.4 (`MPI_Cancel`).
    #[doc(alias = "MPI_Cancel")]
    pub fn cancel(&mut self) -> Result<()> {
        self.flight.cancel(&self.comm)
    }

    /// The communicator that it was begun on; `None` if that was an [`Intercommunicator`](crate::Intercommunicator).
    #[must_use]
    pub fn communicator(&self) -> Option<&Communicator> {
        // Whose ranks are another group's is none that any operation may be begun on.
        Some(&self.comm).filter(|comm| !comm.is_between())
    }

    /// The same, whatever it is.
    pub(crate) fn comm(&self) -> &Communicator {
        &self.comm
    }

    pub(crate) fn flight_mut(&mut self) -> &mut Flight {
        &mut self.flight
    }

    /// Lets go of an operation that somebody else ends, who keeps its memory until then.
    pub(crate) fn let_go(&mut self) -> Option<InFlight<B>> {
        self.flight = Flight::Gone;
        self.buffer.take()
    }

    /// The memory, if nothing works on it any more.
    fn memory(&mut self) -> Option<B> {
        let over = self.flight.ended()?;
        Some(self.buffer.take()?.give_back(over))
    }

    /// What is over, taken apart.
    fn finish(mut self) -> Result<(B, Result<Status>)> {
        let outcome = self.flight.take();
        let Some(buffer) = self.memory() else {
            return Err(Error::new(
                ErrorKind::Argument,
                "MPI_Wait",
                "the request has been waited for",
            ));
        };
        Ok(match (outcome, self.settle) {
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
    /// A receive that makes its vector when it knows how long it is.
    pub(crate) fn of_any_length(comm: &Communicator, flight: Flight) -> Self {
        let mut request = Self::of(comm, flight, InFlight::new(Vec::new()));
        request.settle = Some(Room::into_initialised);
        request
    }
}

impl<B: Send + 'static> Drop for Request<B> {
    fn drop(&mut self) {
        drop(self.memory());
        if let Some(buffer) = self.buffer.take() {
            let flight = std::mem::replace(&mut self.flight, Flight::Gone);
            flight.abandon(&self.comm, buffer.into_keep_alive());
        }
    }
}

impl<B: Send + 'static> fmt::Debug for Request<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.flight.operation())
            .field("over", &self.flight.is_over())
            .finish_non_exhaustive()
    }
}
