//! The communicator of all ranks over MPI.

use std::sync::{Arc, Mutex, Weak};

use super::Runtime;
use crate::call::lock::lock;
use crate::communicator::Communicator;
use crate::communicator::attributes::Attributes;
use crate::transport::mpi::Comm;

/// The attributes of the world, as long as a handle of it lives.
static ATTRIBUTES: Mutex<Weak<Attributes>> = Mutex::new(Weak::new());

/// The runtime over an MPI that was started or joined.
pub(super) fn over_mpi(comm: Comm) -> Runtime {
    let mut known = lock(&ATTRIBUTES);
    let attributes = known.upgrade().unwrap_or_default();
    *known = Arc::downgrade(&attributes);
    let session = Arc::clone(&comm.session);
    let facts = Arc::clone(&session.facts);
    let (rank, size) = (facts.rank, facts.size);
    let recorder = Arc::clone(&session.world_recorder);
    let world = Communicator::over_mpi(comm, rank, size, size, session.max_tag, recorder);
    let step = Arc::clone(&session.world_step);
    Runtime::new(world.sharing(attributes, step), facts)
}
