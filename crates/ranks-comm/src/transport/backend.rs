//! The two backends of a communicator, and an operation that was started on one of them.

use ranks_mpi_sys::{MPI_Request, native};

use crate::data::in_flight::{InFlight, Keep};
use crate::result::Error;
use crate::transport::in_process::Comm as InProcessComm;
use crate::transport::mpi::Comm as MpiComm;
use crate::transport::pending_op::Deferred;

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
