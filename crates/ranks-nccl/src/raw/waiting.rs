//! Waits for operations in flight, and what is left of them after a failure.

use std::time::Duration;

use ranks_comm::Result;
use ranks_cuda::Stream;
use ranks_raw::backend::drain;

use super::RawNccl;
use crate::error::of_driver;
use crate::state::open_group;

const QUERY: &str = "cuStreamQuery";

/// The time to wait for a device after an abort, before the process is ended.
const PATIENCE: Duration = Duration::from_secs(30);

impl RawNccl {
    /// Waits until the stream is over. After an error it is as well.
    pub(super) fn over(&self, limit: Option<Duration>) -> Result<()> {
        open_group::none_open(QUERY)?;
        let shared = self.comm.shared();
        let outcome = shared.until(QUERY, limit, || self.is_over());
        if let Err(error) = &outcome {
            shared.abort_because(&error.to_string());
            self.drain();
        }
        outcome
    }

    pub(super) fn is_over(&self) -> Result<bool> {
        let over = self.stream.query();
        over.map_err(|error| of_driver(QUERY, error))
    }

    /// Waits until nothing works any more on memory that was lent until then. The communicator was
    /// aborted.
    #[cold]
    pub(super) fn drain(&self) {
        drain(PATIENCE, "an operation of an aborted communicator", || {
            // A stream that reports a failure has nothing under way: its context is gone.
            !matches!(self.stream.query(), Ok(false))
        });
    }
}
