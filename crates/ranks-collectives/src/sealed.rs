//! What keeps the traits of this crate to communicators.

use ranks_comm::Communicator;

/// Out of reach from outside, so that operations can be added to the traits.
pub trait Sealed {
    /// The communicator itself.
    fn communicator(&self) -> &Communicator;
}

impl Sealed for Communicator {
    #[inline(always)]
    fn communicator(&self) -> &Communicator {
        self
    }
}
