//! The error handlers of a part of the program that has initialised MPI: errors return as long as a
//! runtime is there, and go where they went before once it has ended.

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Errhandler};

use crate::result::Result;
use crate::transport::mpi::communicator::return_errors;
use crate::transport::mpi::error::check;

/// A communicator that is there from the start, and the handler that it had. Dropped while MPI is
/// alive, on a thread that may call.
pub(super) struct Handler {
    comm: MPI_Comm,
    before: MPI_Errhandler,
}

impl Handler {
    /// Has errors on `comm` return.
    pub(super) fn replace(comm: MPI_Comm) -> Result<Self> {
        let before = handler_of(comm)?;
        return_errors(comm).map(|()| Self { comm, before })
    }
}

impl Drop for Handler {
    /// Sets the handler that was there, unless somebody has set another one since. A failure leaves
    /// that of the runtime.
    fn drop(&mut self) {
        if let Ok(mut now) = handler_of(self.comm) {
            if now == sys::MPI_ERRORS_RETURN {
                // SAFETY: the communicator is there as long as MPI, and so is a handler that is not
                // freed.
                unsafe { sys::MPI_Comm_set_errhandler(self.comm, self.before) };
            }
            free(&mut now);
        }
        free(&mut self.before);
    }
}

/// The handler of a communicator, to be freed.
fn handler_of(comm: MPI_Comm) -> Result<MPI_Errhandler> {
    let mut handler = sys::MPI_ERRHANDLER_NULL;
    // SAFETY: the communicator is there as long as MPI, and the handle is ours.
    let code = unsafe { sys::MPI_Comm_get_errhandler(comm, &raw mut handler) };
    check(code, "MPI_Comm_get_errhandler").map(|()| handler)
}

/// Frees what [`handler_of`] has returned, unless it is the library's own.
fn free(handler: &mut MPI_Errhandler) {
    if ![
        sys::MPI_ERRORS_ARE_FATAL,
        sys::MPI_ERRORS_RETURN,
        sys::MPI_ERRORS_ABORT,
    ]
    .contains(handler)
    {
        // SAFETY: the library has returned it, and it is freed once.
        unsafe { sys::MPI_Errhandler_free(&raw mut *handler) };
    }
}
