//! Waiting for what the library or a device does, for as long as a communicator's time limit
//! allows.

use std::sync::Arc;
use std::time::Duration;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::Watch;
use ranks_nccl_sys::{ncclInProgress, ncclSuccess};
use ranks_raw::backend::Deadline;

use crate::error::{failure, of_driver};
use crate::state::Shared;

impl Shared {
    /// Waits until the library has done what belongs to the last call: what is to be enqueued is.
    pub(crate) fn settle(&self, operation: &'static str) -> Result<()> {
        let mut deadline = Deadline::after(self.time_limit);
        loop {
            let standing = self.standing(operation)?;
            if standing == ncclSuccess {
                return Ok(());
            }
            if standing != ncclInProgress {
                return Err(self.failed(operation, standing));
            }
            if let Some(limit) = deadline.pause() {
                return Err(self.too_late(operation, limit));
            }
        }
    }

    /// Returns `true` if operations in flight can still complete: the question to ask again and
    /// again while waiting for a device.
    ///
    /// # Errors
    /// [`ErrorKind::Aborted`]; a failure that NCCL has come to know, which aborts the communicator.
    pub(crate) fn well(&self, operation: &'static str) -> Result<()> {
        let standing = match self.standing(operation) {
            // All was over on every rank before it was finalized.
            Err(error) if error.kind() == ErrorKind::Finalized => return Ok(()),
            standing => standing?,
        };
        if standing == ncclSuccess || standing == ncclInProgress {
            return Ok(());
        }
        Err(self.failed(operation, standing))
    }

    /// Waits until `done`, for as long as the communicator is well and `limit` says (the
    /// communicator's own if it is `None`).
    ///
    /// # Errors
    /// That of `done`; as [`well`](Self::well); [`ErrorKind::TimedOut`], which aborts the
    /// communicator.
    pub(crate) fn until(
        &self,
        operation: &'static str,
        limit: Option<Duration>,
        mut done: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        let mut deadline = Deadline::after(limit.or(self.time_limit));
        while !done()? {
            self.well(operation)?;
            if let Some(limit) = deadline.pause() {
                return Err(self.too_late(operation, limit));
            }
        }
        // What was given up is over as well, and has done nothing of use.
        self.well(operation)
    }

    /// Looks after an operation that is enqueued, and keeps the communicator until then.
    pub(crate) fn watch(self: &Arc<Self>, operation: &'static str) -> NcclWatch {
        NcclWatch {
            shared: Arc::clone(self),
            operation,
        }
    }

    #[cold]
    pub(crate) fn too_late(&self, operation: &'static str, limit: Duration) -> Error {
        let place = self.place;
        let text = format!(
            "timed out after {limit:?} ({place}): a rank that does not make \
             the same call, or is gone, is waited for; the communicator was aborted"
        );
        let error = Error::new(ErrorKind::TimedOut, operation, text);
        self.abort_because(&error.to_string());
        error
    }

    /// The failure of an operation in flight, if there is one. Nothing is aborted.
    pub(crate) fn async_error(&self) -> Option<Error> {
        const CALL: &str = "ncclCommGetAsyncError";
        match self.standing(CALL) {
            Err(gone) => Some(gone),
            Ok(code) if code == ncclSuccess || code == ncclInProgress => None,
            Ok(code) => Some(failure(self.nccl, CALL, code, self.caller())),
        }
    }
}

/// Looks after an operation of NCCL while one waits for it: whether its communicator is well, and
/// how long it has taken.
///
/// Once it has taken longer than the communicator's [time limit](crate::NcclOptions::time_limit),
/// the communicator is aborted.
#[derive(Debug)]
pub struct NcclWatch {
    shared: Arc<Shared>,
    operation: &'static str,
}

impl Watch for NcclWatch {
    type Error = Error;

    fn look(&self, waited: Duration) -> Result<()> {
        self.shared.well(self.operation)?;
        match self.shared.time_limit {
            Some(limit) if waited >= limit => Err(self.shared.too_late(self.operation, limit)),
            _ => Ok(()),
        }
    }

    fn over(&self) -> Result<()> {
        self.shared.well(self.operation)
    }

    fn of_driver(&self, error: ranks_cuda::Error) -> Error {
        of_driver(self.operation, error)
    }
}

/// Waits until the library is done with several communicators, each on its own, as after a group.
pub(crate) fn settle_all(operation: &'static str, members: &[Arc<Shared>]) -> Result<()> {
    let mut outcome = Ok(());
    for member in members {
        let settled = member.settle(operation);
        outcome = outcome.and(settled);
    }
    outcome
}
