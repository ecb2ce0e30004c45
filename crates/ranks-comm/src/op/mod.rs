//! Operations that are started and completed later: requests, scopes, persistent and partitioned
//! operations.

#[cfg(feature = "async")]
pub(crate) mod future;
pub(crate) mod mpi;
mod ordered;
pub(crate) mod partitioned;
mod pending_op;
pub(crate) mod persistent;
pub(crate) mod request;
pub(crate) mod requests;
pub(crate) mod scope;
