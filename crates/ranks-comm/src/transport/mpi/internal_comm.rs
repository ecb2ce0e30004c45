//! An internal duplicate of the world, for messages of this crate: the states of ranks when an
//! operation has timed out (`query_ranks`), and their observations (`gather_statistics`).

use std::sync::Mutex;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;

use super::error::check;
use crate::call::lock::lock;
use crate::result::Result;

/// Tags of the messages, so that their receives do not match each other.
pub(crate) const RANK_QUERIES: i32 = 1;
pub(crate) const PART: i32 = 2;
pub(crate) const QUESTION: i32 = 3;
pub(crate) const ANSWERED: i32 = 4;
pub(crate) const READING: i32 = 5;

static COMM: Mutex<Option<MPI_Comm>> = Mutex::new(None);

/// The communicator, which lives as long as the library. Collective over all ranks, while MPI is
/// alive.
pub(crate) fn open() -> Result<MPI_Comm> {
    let mut known = lock(&COMM);
    if let Some(comm) = *known {
        return Ok(comm);
    }
    let mut comm = sys::MPI_COMM_NULL;
    // SAFETY: MPI is alive, as its session is being made, and the new handle is ours.
    let code = unsafe { sys::MPI_Comm_dup(sys::MPI_COMM_WORLD, &raw mut comm) };
    check(code, "MPI_Comm_dup")?;
    *known = Some(comm);
    Ok(comm)
}
