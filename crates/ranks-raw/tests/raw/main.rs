//! The trait over addresses, over MPI and in process.
#![allow(unsafe_code)]

mod conformance;
mod devices;
mod failures;
mod messages;
mod threads;

use ranks_comm::{Communicator, Result};
use ranks_raw::{RawComm, RawOptions};

fn raw(world: &Communicator) -> Result<RawComm> {
    RawComm::new(world, RawOptions::new())
}
