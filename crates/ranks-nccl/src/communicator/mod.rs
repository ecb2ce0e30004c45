//! The handle that a program has of a communicator.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ranks_cuda::Context;

use crate::state::Shared;

mod finalize;
pub(crate) mod id;
mod init;
pub(crate) mod properties;
pub(crate) mod split;

/// One rank of a communicator of NCCL.
///
/// Dropped, it is freed when nothing is under way any more; dropping never waits for other ranks.
/// [`finalize`](Self::finalize) waits, and reports what went wrong.
#[doc(alias = "ncclComm_t")]
pub struct NcclCommunicator {
    shared: Arc<Shared>,
}

impl NcclCommunicator {
    pub(super) fn of(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The state that operations hold while they are in flight.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The number of this rank, from 0.
    #[doc(alias = "ncclCommUserRank")]
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shared.rank()
    }

    /// The number of ranks.
    #[doc(alias = "ncclCommCount")]
    #[must_use]
    pub fn size(&self) -> usize {
        self.shared.size()
    }

    /// The number of the GPU that this rank works on, as the driver counts.
    #[doc(alias = "ncclCommCuDevice")]
    #[must_use]
    pub fn device(&self) -> usize {
        self.shared.device()
    }

    /// The primary context of that GPU: where streams and memory for this communicator come from.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.shared.context()
    }

    /// NCCL's own handle (`ncclComm_t`), for other libraries that take one; null if the
    /// communicator was aborted.
    ///
    /// It is valid until the communicator is finalized, dropped or aborted, which also happens by
    /// itself when it fails. One thread at a time may use it.
    #[must_use]
    pub fn raw(&self) -> *mut c_void {
        self.shared.raw()
    }

    /// The version of the library, as it writes it: `2.32.3`.
    #[doc(alias = "ncclGetVersion")]
    #[must_use]
    pub fn version(&self) -> String {
        self.shared.nccl().version_text()
    }

    /// The time that calls and waits may take, if there is a limit.
    #[must_use]
    pub fn time_limit(&self) -> Option<Duration> {
        self.shared.time_limit()
    }

    /// Returns `true` if the communicator was aborted: by this program, or because it failed.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.shared.is_aborted()
    }

    /// The reason why the communicator cannot be used any more, if that is so.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared.failure()
    }
}

impl fmt::Debug for NcclCommunicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.shared, f)
    }
}
