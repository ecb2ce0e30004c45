//! The two transports: an MPI library, and threads of this process.

pub(crate) mod backend;
pub(crate) mod buffered;
pub(crate) mod comparison;
pub(crate) mod completion;
pub(crate) mod facts;
pub(crate) mod in_process;
pub(crate) mod info;
pub(crate) mod join;
pub(crate) mod mpi;
pub(crate) mod pending_op;
pub(crate) mod scatter;
pub(crate) mod shape;
