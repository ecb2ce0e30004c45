//! A communicator for one window.

use ranks_comm::Result;
use ranks_comm::backend::{MpiComm, check};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;

/// A duplicate that lives as long as the window that is made from it.
///
/// MPICH (3.4 to 5.0, Intel's too) tells its windows apart by the context of the communicator that
/// they were made from. If that one is freed before the window, as the standard allows, its context
/// goes to another one, and what is meant for a window of that reaches the old one: ranks wait for
/// ever in `MPI_Win_lock_all`.
#[derive(Debug)]
pub(crate) struct OwnComm(MPI_Comm);

impl OwnComm {
    /// Collective.
    pub(crate) fn dup(comm: &MpiComm) -> Result<Self> {
        let mut own = sys::MPI_COMM_NULL;
        // SAFETY: the communicator is alive, and the handle is ours.
        let code = unsafe { sys::MPI_Comm_dup(comm.canonical, &raw mut own) };
        check(code, "MPI_Comm_dup")?;
        Ok(Self(own))
    }

    pub(crate) fn handle(&self) -> MPI_Comm {
        self.0
    }

    /// To be called when the window is gone. Collective.
    pub(crate) fn free(mut self) -> Result<()> {
        // SAFETY: it is freed once, and MPI lives, as the window was just freed.
        let code = unsafe { sys::MPI_Comm_free(&raw mut self.0) };
        check(code, "MPI_Comm_free")
    }
}
