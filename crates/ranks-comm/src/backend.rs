//! What the sibling crates build on: the two things that a communicator can be.

use ranks_mpi_sys::{MPI_Request, native};

use crate::error::Error;

pub use crate::agree::digest;
pub use crate::callback::{calling_back, do_what_is_left};
pub use crate::entered::Entered;
pub use crate::flight::{Deferred, Keep, Pause};
pub use crate::identity::unused_number;
pub use crate::in_flight::InFlight;
pub use crate::in_process::{Comm as InProcessComm, Watch};
pub use crate::landing::{Role, Span};
pub use crate::layout::nonblocking::Spread;
pub use crate::limit::look;
pub use crate::mpi::{
    Child, Comm as MpiComm, FreedTogether, InfoHandle, Portion, TypeOf, check, check_with,
    network_atomics_are_wrong,
};
pub use crate::owned::Plain;
pub use crate::persistent::Again;
pub use crate::told::Told;
#[cfg(feature = "serde")]
pub use crate::value::{from_bytes, to_bytes};

/// What stands behind a communicator.
#[derive(Debug)]
pub enum Backend {
    /// An MPI library.
    Mpi(MpiComm),
    /// Threads of this process.
    InProcess(InProcessComm),
}

/// An operation that a sibling crate has begun.
#[derive(Debug)]
pub enum Begun {
    /// The library has it.
    Mpi(native::Cell<MPI_Request>),
    /// The library has it, and uses what is kept until it is over.
    MpiKeeping(native::Cell<MPI_Request>, InFlight<Box<dyn Keep>>),
    /// It goes on when it is asked.
    InProcess(Box<dyn Deferred>),
    /// It is over.
    Over,
    /// Two that make one.
    Both(Box<(Begun, Begun)>),
    /// An operation, and the comparison of what ranks call.
    Compared(Box<(Begun, Begun)>),
    /// This part of it could not be begun.
    Failed(Error),
}
