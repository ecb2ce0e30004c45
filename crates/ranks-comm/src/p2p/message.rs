//! A message that a matched probe has found.

use std::fmt;

use crate::call::record::{Class, Kind, Over};
use crate::communicator::Communicator;
use crate::data::buffer::Buffer;
use crate::data::element::Pod;
use crate::result::{Result, Status};
use crate::transport::backend::Backend;
use crate::transport::{in_process, mpi};

const OPERATION: &str = "MPI_Mrecv";

/// A matched message, which only its holder can receive; from [`Communicator::mprobe`] or
/// [`Communicator::improbe`].
///
/// Receiving consumes it. Dropping it receives the message and discards it, so that its sender can
/// go on; so does an error. On a thread that may not call, that is left to the next call of one
/// that may.
///
/// MPI 5.0 §3.8.2.
#[doc(alias = "MPI_Message")]
#[must_use = "a message that is not received is thrown away"]
pub struct Message {
    comm: Communicator,
    claimed: Claimed,
    status: Status,
}

pub(super) enum Claimed {
    Mpi(mpi::Message),
    /// `None` from [`Source::Null`](crate::Source::Null).
    InProcess(Option<in_process::Envelope>),
    /// Received already.
    Gone,
}

impl Claimed {
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Gone)
    }

    /// Receives the message, of which a library has told this status, into a new `Vec`.
    pub(super) fn into_vec<T: Pod>(self, status: &Status) -> Result<(Vec<T>, Status)> {
        match self {
            Self::Mpi(message) => message.recv_vec(OPERATION, status),
            Self::InProcess(Some(message)) => message.into_vec(OPERATION),
            Self::InProcess(None) | Self::Gone => Ok((Vec::new(), Status::null())),
        }
    }

    /// The same into a new buffer.
    pub(super) fn into_buffer<T: Pod>(self, status: &Status) -> Result<(Buffer<T>, Status)> {
        match self {
            Self::Mpi(message) => message.recv_buffer(OPERATION, status),
            Self::InProcess(Some(message)) => message.into_buffer(OPERATION),
            Self::InProcess(None) | Self::Gone => Ok((Buffer::new(), Status::null())),
        }
    }
}

impl Message {
    pub(crate) fn mpi(comm: &Communicator, (message, status): (mpi::Message, Status)) -> Self {
        Self::of(comm, Claimed::Mpi(message), status)
    }

    pub(crate) fn in_process(comm: &Communicator, message: Option<in_process::Envelope>) -> Self {
        let status = message.as_ref().map(in_process::Envelope::status);
        let status = status.unwrap_or_else(Status::null);
        Self::of(comm, Claimed::InProcess(message), status)
    }

    fn of(comm: &Communicator, claimed: Claimed, status: Status) -> Self {
        let comm = comm.clone();
        Self {
            comm,
            claimed,
            status,
        }
    }

    /// The source, the tag and the length of the message.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Receives the message into the beginning of `buf`.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) if the message is longer than `buf`,
    /// [`ErrorKind::Type`](crate::ErrorKind::Type) if it is not a whole number of elements: `buf`
    /// is untouched and the message lost. Otherwise what the library reports.
    ///
    /// MPI 5.0 §3.8.3 (`MPI_Mrecv`).
    #[doc(alias = "MPI_Mrecv")]
    #[doc(alias = "MPI_Mrecv_c")]
    #[inline]
    pub fn recv<T: Pod>(mut self, buf: &mut [T]) -> Result<Status> {
        const MRECV: &Kind = &Kind::of(Class::Message, OPERATION);
        let fast = self.comm.fast_path_recorded(MRECV.into());
        let _entered = match fast {
            Some(_) => None,
            None => Some(self.comm.enter(MRECV)?),
        };
        let received = match self.claimed.take() {
            Claimed::Mpi(message) => message.recv(OPERATION, &self.status, buf),
            Claimed::InProcess(Some(message)) => message.copy_into(OPERATION, buf),
            Claimed::InProcess(None) | Claimed::Gone => Ok(Status::null()),
        };
        if let Some(comm) = fast {
            comm.over();
        }
        received
    }

    /// Receives the message into a new `Vec` of its length.
    ///
    /// # Errors
    /// [`ErrorKind::Type`](crate::ErrorKind::Type) if the message is not a whole number of
    /// elements; what the library reports.
    ///
    /// MPI 5.0 §3.8.3 (`MPI_Mrecv`).
    pub fn recv_vec<T: Pod>(mut self) -> Result<(Vec<T>, Status)> {
        let _entered = self.comm.enter(OPERATION)?;
        self.claimed.take().into_vec(&self.status)
    }

    /// Receives the message into a new [`Buffer`] of its length.
    ///
    /// # Errors
    /// As [`recv_vec`](Self::recv_vec); [`ErrorKind::Length`](crate::ErrorKind::Length) if there is
    /// no memory for it.
    ///
    /// MPI 5.0 §3.8.3 (`MPI_Mrecv`).
    pub fn recv_buffer<T: Pod>(mut self) -> Result<(Buffer<T>, Status)> {
        let _entered = self.comm.enter(OPERATION)?;
        self.claimed.take().into_buffer(&self.status)
    }

    /// Receives it into nowhere.
    #[cold]
    fn discard(&mut self) {
        let Claimed::Mpi(message) = self.claimed.take() else {
            return;
        };
        match (self.comm.enter(OPERATION), self.comm.backend()) {
            (Ok(_entered), _) => message.discard(&self.status),
            (Err(_), Backend::Mpi(comm)) => {
                let status = self.status;
                comm.session.later(move || message.discard(&status));
            }
            (Err(_), Backend::InProcess(_)) => {}
        }
    }
}

impl Drop for Message {
    #[inline]
    fn drop(&mut self) {
        if matches!(self.claimed, Claimed::Mpi(_)) {
            self.discard();
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
