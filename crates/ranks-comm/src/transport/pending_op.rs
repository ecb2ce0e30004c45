//! Pending operations, on either backend.
#![allow(unsafe_code)]

use std::fmt;

use crate::data::in_flight::Over;
use crate::result::{Error, ErrorKind, Result, Status};
use crate::transport::completion::Completion;
use crate::transport::mpi::claims::Claim;
use crate::transport::scatter::Scatter;
use crate::transport::{in_process, mpi};

/// An operation of another crate among threads, which progresses only when it is tested or waited
/// for.
pub trait Deferred: Send + fmt::Debug {
    /// Makes progress, and returns `true` if it is complete; if `wait` is set, it is.
    ///
    /// # Errors
    /// Those of the operation, which is complete then.
    fn advance(&mut self, comm: &in_process::Comm, wait: bool) -> Result<bool>;
}

/// A pending operation.
#[derive(Debug)]
pub(crate) enum PendingOp {
    /// Complete; the outcome has not been taken yet.
    Over(Result<Completion>),
    /// Complete, and the outcome taken.
    Gone,
    /// Pending in the library.
    Native(mpi::Native),
    /// A receive over MPI that is matched before the length of its message is known.
    Claim(Claim),
    /// A message among threads.
    InProcess(in_process::PendingOp),
    /// Several messages among threads, of another crate's operation of that name.
    Deferred(&'static str, Box<dyn Deferred>),
    /// Two operations that make up the one of that name, whose status is that of the second.
    Pair(&'static str, Box<(PendingOp, PendingOp)>),
    /// The operation of that name, and the comparison of the calls of all ranks.
    Compared(&'static str, Box<(PendingOp, PendingOp)>),
    /// A receive into new memory, and the destination that its message is unpacked to.
    Scattered(Box<(PendingOp, Scatter)>),
}

impl PendingOp {
    pub(crate) fn over(status: Status) -> Self {
        Self::Over(Ok(Completion::plain(status)))
    }

    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Over(_) | Self::Gone => true,
            Self::Native(_) | Self::Claim(_) | Self::InProcess(_) | Self::Deferred(..) => false,
            Self::Pair(_, pair) | Self::Compared(_, pair) => pair.0.is_over() && pair.1.is_over(),
            Self::Scattered(receive) => receive.0.is_over(),
        }
    }

    /// The C name of the pending operation.
    pub(crate) fn operation(&self) -> &'static str {
        match self {
            Self::Over(_) | Self::Gone => "MPI_Wait",
            Self::Native(native) => native.operation(),
            Self::Claim(claim) => claim.operation(),
            Self::InProcess(flight) => flight.operation(),
            Self::Deferred(operation, _)
            | Self::Pair(operation, _)
            | Self::Compared(operation, _) => operation,
            Self::Scattered(receive) => receive.0.operation(),
        }
    }

    /// Takes the outcome of a complete operation.
    pub(crate) fn take(&mut self) -> Result<Completion> {
        match std::mem::replace(self, Self::Gone) {
            Self::Over(outcome) => outcome,
            Self::Pair(_, mut pair) | Self::Compared(_, mut pair) => {
                let sent = pair.0.take();
                let received = pair.1.take()?;
                sent.map(|_| received)
            }
            Self::Scattered(mut receive) => {
                let landed = receive.0.take()?;
                receive.1.put(landed)
            }
            _ => Err(Error::new(
                ErrorKind::Argument,
                "MPI_Wait",
                "the operation is not pending; wait for it once",
            )),
        }
    }

    /// Proof that nothing works on its memory any more.
    #[inline(always)]
    pub(crate) fn ended(&self) -> Option<Over> {
        let is_over = matches!(self, Self::Gone) || self.is_over();
        // SAFETY: an operation is complete when its backend has said that it is, or if none was
        // started.
        is_over.then(|| unsafe { Over::new() })
    }
}
