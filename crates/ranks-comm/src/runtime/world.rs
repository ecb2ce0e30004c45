//! The communicator of all ranks over MPI.

use std::sync::{Mutex, Weak};

use super::Runtime;
use crate::call::lock::lock;
use crate::communicator::Communicator;
use crate::communicator::attributes::Attributes;
use crate::transport::mpi::Started;

/// The attributes of the world, as long as a handle of it lives.
static ATTRIBUTES: Mutex<Weak<Attributes>> = Mutex::new(Weak::new());

/// The runtime over an MPI that was started or joined.
pub(super) fn over_mpi(started: Started) -> Runtime {
    let mut known = lock(&ATTRIBUTES);
    let attributes = known.upgrade().unwrap_or_default();
    *known = std::sync::Arc::downgrade(&attributes);
    let (rank, size) = (started.facts.rank, started.facts.size);
    let world = Communicator::over_mpi(
        started.world,
        rank,
        size,
        size,
        started.max_tag,
        started.recorder,
    );
    let world = world.with_attributes(attributes).with_step(started.step);
    Runtime::new(world, started.facts)
}
