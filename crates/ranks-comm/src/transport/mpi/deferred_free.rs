//! Deferred frees: dropped objects that only a collective call can free.

use std::collections::BTreeMap;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;

use super::child::FreedTogether;
use super::error::check;
use super::unreceived;
use crate::result::Result;

/// The objects whose free is deferred, in the order of their creation.
#[derive(Default)]
pub(crate) struct DeferredFrees {
    pub(crate) next: u64,
    pub(crate) waiting: BTreeMap<u64, Waiting>,
}

/// A communicator, or an object that was made from one.
pub(crate) enum Waiting {
    Comm(MPI_Comm),
    Other(Box<dyn FreedTogether>),
}

impl Waiting {
    /// Frees it. Collective.
    pub(crate) fn free(self) -> Result<()> {
        let mut comm = match self {
            Self::Comm(comm) => comm,
            Self::Other(other) => return other.free(),
        };
        unreceived::tell(comm);
        // SAFETY: the handle was put aside when its last holder went, and is taken out once.
        let code = unsafe { sys::MPI_Comm_free(&raw mut comm) };
        check(code, "MPI_Comm_free")
    }
}
