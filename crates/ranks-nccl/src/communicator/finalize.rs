//! The end of communicators.
#![allow(unsafe_code)]

use ranks_comm::{Error, Result};

use crate::communicator::NcclCommunicator;
use crate::error::{check, of_driver};
use crate::state::deferred_destroy::{destroy_handle, tidy};
use crate::state::open_group;

const FINALIZE: &str = "ncclCommFinalize";
const DESTROY: &str = "ncclCommDestroy";

impl NcclCommunicator {
    /// Gives up all that is under way, from any thread: whoever waits gets an `Err`, and so does
    /// every later call. A second time it does nothing.
    ///
    /// The other ranks are not told; they learn of it when they miss this one. While another thread
    /// has calls of this communicator in a [`group`](crate::group()), it is aborted when that group
    /// ends.
    #[doc(alias = "ncclCommAbort")]
    pub fn abort(&self) {
        self.shared().abort_because("the program asked for it");
    }

    /// The failure of an operation in flight, if there is one: asked of the library, without
    /// waiting. Nothing is aborted by asking.
    #[doc(alias = "ncclCommGetAsyncError")]
    #[must_use]
    pub fn async_error(&self) -> Option<Error> {
        self.shared().async_error()
    }

    /// Waits until all is over that was enqueued, on every rank, and frees the communicator.
    /// Collective.
    ///
    /// # Errors
    /// Errors of NCCL, and [`TimedOut`](ranks_comm::ErrorKind::TimedOut): the communicator is
    /// aborted then. Of a communicator that was aborted before,
    /// [`Aborted`](ranks_comm::ErrorKind::Aborted), and why.
    #[doc(alias = "ncclCommFinalize")]
    #[doc(alias = "ncclCommDestroy")]
    pub fn finalize(self) -> Result<()> {
        open_group::none_open(FINALIZE)?;
        let shared = self.shared();
        let current = shared.context().enter();
        let _current = current.map_err(|error| of_driver(FINALIZE, error))?;
        shared.call(FINALIZE, |table, comm| {
            let function = table.ncclCommFinalize?;
            // SAFETY: the handle is not freed while the state is locked.
            Some(unsafe { function(comm) })
        })?;
        let comm = shared.take_handle(DESTROY)?;
        let code = destroy_handle(shared.nccl(), comm);
        tidy();
        check(shared.nccl(), DESTROY, code, shared.caller())
    }
}
