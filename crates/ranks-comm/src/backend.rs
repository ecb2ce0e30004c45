//! Interface for the sibling crates: the two backends of a communicator, and operations on them.

use ranks_mpi_sys::{MPI_Request, native};

use crate::error::Error;

pub use crate::agree::digest;
pub use crate::call_guard::CallGuard;
pub use crate::callback::{calling_back, do_what_is_left};
pub use crate::identity::unused_number;
pub use crate::in_flight::InFlight;
pub use crate::in_process::{Comm as InProcessComm, Watch};
pub use crate::layout::nonblocking::Spread;
pub use crate::lent::{Lent, Places};
pub use crate::limit::look;
pub use crate::mpi::{
    Child, Comm as MpiComm, FreedTogether, InfoHandle, Portion, TypeOf, check, check_with,
    network_atomics_are_wrong,
};
pub use crate::owned::Plain;
pub use crate::pending_op::{Deferred, Keep, Pause};
pub use crate::persistent::Again;
pub use crate::raw_slice::{OpInfo, RawSlice};
pub use crate::told::Told;
#[cfg(feature = "serde")]
pub use crate::value::{from_bytes, to_bytes};

/// The transport of a communicator: MPI or threads.
#[derive(Debug)]
pub enum Backend {
    /// An MPI library.
    Mpi(MpiComm),
    /// Threads of this process.
    InProcess(InProcessComm),
}

/// An operation that a sibling crate has started.
#[derive(Debug)]
pub enum StartedOp {
    /// Pending in the library.
    Mpi(native::Cell<MPI_Request>),
    /// Pending in the library, which uses the kept value until completion.
    MpiKeeping(native::Cell<MPI_Request>, InFlight<Box<dyn Keep>>),
    /// Among threads: it progresses when it is tested or waited for.
    InProcess(Box<dyn Deferred>),
    /// Complete.
    Over,
    /// Two operations that make up one.
    Both(Box<(StartedOp, StartedOp)>),
    /// An operation, and the comparison of the calls of all ranks.
    Compared(Box<(StartedOp, StartedOp)>),
    /// A part that could not be started.
    Failed(Error),
}
