//! What the sibling crates build on: the two things that a communicator can be.

pub use crate::in_process::Comm as InProcessComm;
pub use crate::mpi::{Comm as MpiComm, InfoHandle, TypeOf, check, check_with};
pub use crate::thread_level::Entered;
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
