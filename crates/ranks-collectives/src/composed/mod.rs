//! Operations that are made of others, over MPI and in process alike.

pub(crate) mod hierarchy;
pub(crate) mod sparse_exchange;
pub(crate) mod two_level_alltoall;
