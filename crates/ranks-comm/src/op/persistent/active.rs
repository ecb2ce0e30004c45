//! Active persistent operations.

use std::fmt;
use std::time::Duration;

use super::{Inner, Persistent, Phase};
use crate::call::hold;
use crate::call::limit::Pause;
use crate::op::mpi::persistent::finish_all;
use crate::op::mpi::request_copies::ROOMS;
use crate::result::{Error, Result, Status};

/// A [`Persistent`] operation that was started and is pending.
///
/// If it is dropped, it is left to the runtime with its buffer until it is complete, as a
/// [`Request`](crate::Request) is.
#[must_use = "an operation is complete only after a wait"]
pub struct Active<B: Send + 'static>(pub(super) Box<Inner<B>>);

impl<B: Send + 'static> Active<B> {
    /// Waits until the operation is complete. Returns the request, which can be started again, and
    /// the status.
    ///
    /// The status of a send has no content. With an error the request is lost;
    /// [`complete`](Self::complete) returns both.
    ///
    /// # Errors
    /// Those of the operation, see [`Request::wait`](crate::Request::wait).
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    #[doc(alias = "MPI_Wait")]
    #[inline(always)]
    pub fn wait(mut self) -> Result<(Persistent<B>, Status)> {
        let status = match self.0.wait_silently() {
            Some(outcome) => outcome?,
            None => match self.0.wait_fast() {
                Some(status) => status,
                None => self.0.wait()??,
            },
        };
        Ok((Persistent(self.0), status))
    }

    /// As [`wait`](Self::wait), but gives the request back even if the operation has failed.
    ///
    /// # Errors
    /// [`WrongThread`](crate::ErrorKind::WrongThread),
    /// [`Finalized`](crate::ErrorKind::Finalized) and, over MPI at a time limit,
    /// [`TimedOut`](crate::ErrorKind::TimedOut): the operation is still pending and now owned by
    /// the runtime.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    pub fn complete(mut self) -> Result<(Persistent<B>, Result<Status>)> {
        let outcome = match self.0.wait_fast() {
            Some(status) => Ok(status),
            None => self.0.wait()?,
        };
        Ok((Persistent(self.0), outcome))
    }

    /// Waits for all of them. Their statuses are in [`Persistent::status`].
    ///
    /// # Errors
    /// If any has failed, the error of the first failure, with the [statuses](Error::statuses) of
    /// all; all of them are complete and lost then. [`WrongThread`](crate::ErrorKind::WrongThread),
    /// [`Finalized`](crate::ErrorKind::Finalized) and, at a time limit,
    /// [`TimedOut`](crate::ErrorKind::TimedOut): those that are still pending are owned by the
    /// runtime now.
    ///
    /// MPI 5.0 §3.7.5 (`MPI_Waitall`).
    #[doc(alias = "MPI_Waitall")]
    pub fn wait_all(mut requests: Vec<Self>) -> Result<Vec<Persistent<B>>> {
        const OPERATION: &str = "MPI_Waitall";
        let first = requests.first().filter(|_| hold::is_wanted());
        let comm = first.map(|one| one.0.comm.clone());
        // One time limit for all of them. Each tells by itself that this thread may not wait.
        let _entered = comm.as_ref().and_then(|comm| comm.enter(OPERATION).ok());
        let mut outcomes = Vec::with_capacity(requests.len());
        // The library's operations progress by themselves while the others are completed. Listed
        // calls, which may have a time limit, are waits, one for each operation.
        for (index, request) in requests.iter_mut().enumerate() {
            if request.0.phase != Phase::Started || hold::is_wanted() {
                outcomes.push((index, request.0.wait()?));
            }
        }
        let started = requests.iter_mut().enumerate();
        let mut started = started.filter(|(_, request)| request.0.phase == Phase::Started);
        loop {
            let mut some: Vec<_> = started.by_ref().take(ROOMS).collect();
            if some.is_empty() {
                break;
            }
            let natives = some.iter_mut().filter_map(|(_, one)| one.0.native.as_mut());
            let ended = finish_all(&mut natives.collect::<Vec<_>>())?;
            for ((index, request), outcome) in some.into_iter().zip(ended) {
                request.0.has_ended(&outcome);
                outcomes.push((index, outcome));
            }
        }
        if outcomes.iter().any(|(_, outcome)| outcome.is_err()) {
            outcomes.sort_unstable_by_key(|(index, _)| *index);
            return Err(Error::in_status(OPERATION, outcomes));
        }
        Ok(requests
            .into_iter()
            .map(|request| Persistent(request.0))
            .collect())
    }

    /// Tests for completion. Nonblocking; after `true`, [`wait`](Self::wait) does not block.
    ///
    /// # Errors
    /// [`WrongThread`](crate::ErrorKind::WrongThread) and
    /// [`Finalized`](crate::ErrorKind::Finalized). Errors of the operation itself are returned by
    /// `wait`.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Test`).
    #[doc(alias = "MPI_Test")]
    pub fn test(&mut self) -> Result<bool> {
        self.0.test()
    }

    /// As [`test`](Self::test), but waits up to `limit`.
    ///
    /// # Errors
    /// As [`test`](Self::test).
    pub fn wait_timeout(&mut self, limit: Duration) -> Result<bool> {
        Pause::until(limit, &mut || self.test())
    }
}

impl<B: Send + 'static> fmt::Debug for Active<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Active")
            .field("operation", &self.0.plan.role.operation)
            .finish_non_exhaustive()
    }
}
