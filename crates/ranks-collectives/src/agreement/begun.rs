//! Collectives that return at once.

use ranks_comm::backend::{Backend, Begun, InProcessComm, MpiComm};
use ranks_comm::{Communicator, Result};

use super::{Call, Proven};

/// Begins a collective on whichever backend this is, if this thread may.
pub(crate) fn begin<P: Proven>(
    comm: &Communicator,
    call: Call,
    proven: Result<P>,
    over_mpi: impl FnOnce(&MpiComm, P) -> Result<Begun>,
    in_process: impl FnOnce(&InProcessComm, P) -> Result<Begun>,
) -> Result<Begun> {
    let elements = proven.as_ref().map_or(0, Proven::elements);
    let mut entered = comm.enter(call.recorded(elements))?;
    let begun = proven.and_then(|proven| match comm.backend() {
        Backend::Mpi(comm) => over_mpi(comm, proven),
        Backend::InProcess(comm) => in_process(comm, proven),
    });
    entered.note(&begun);
    begun
}
