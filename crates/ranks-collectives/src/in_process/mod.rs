//! Collectives among the thread-ranks of one process, out of messages from rank to rank.
//!
//! Each is linear in the number of ranks, and in the order of ranks. A block of another length than the
//! receiver's own is an `Err` at the receiver, which still takes all that was sent to it, so that the next
//! operation starts clean.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod bytes;
mod call;
mod gather;
mod reduce;
mod scatter;

pub(crate) use allgather::allgather;
pub(crate) use allreduce::allreduce;
pub(crate) use alltoall::alltoall;
pub(crate) use barrier::barrier;
pub(crate) use bcast::bcast;
pub(crate) use gather::gather;
pub(crate) use reduce::reduce;
pub(crate) use scatter::scatter;
