//! Collectives among the thread-ranks of one process.
//!
//! Those in which all ranks need something of all go in [rounds]: all come, each reads the others'
//! slices where they are and writes to its own alone, and all come again. The others are messages
//! from rank to rank, whose bytes stay with the sender if they are many. Reductions combine
//! contributions in the order of ranks ([`fold`]), element by element, so that their bits depend
//! neither on time nor on which rank does which part; functions of the program run on copies.
//!
//! A block of another length is an `Err`: on all ranks in rounds, and otherwise at the receiver,
//! which still takes all that was sent to it. The next operation starts clean.

mod allgather;
mod allreduce;
mod alltoall;
mod arrivals;
mod barrier;
mod bcast;
mod bytes;
mod call;
mod exchange;
pub(crate) mod fold;
mod folding;
mod gather;
mod intercommunicators;
mod layouts;
mod nonblocking;
mod reduce;
mod reduce_local;
mod reduce_scatter;
mod rounds;
mod scan;
mod scatter;

pub(crate) use allgather::allgather;
pub(crate) use allreduce::allreduce;
pub(crate) use alltoall::alltoall;
pub(crate) use barrier::barrier;
pub(crate) use bcast::{bcast, ibcast};
pub(crate) use exchange::{alltoallv, ialltoall, ineighbor_exchange, neighbor_exchange};
pub(crate) use gather::{allgatherv, gather, iallgather, igather};
pub(crate) use intercommunicators::{
    allgather_between, allreduce_between, bcast_between, iallgather_between, ibcast_between,
};
pub(crate) use layouts::{alltoallw, ialltoallw, ineighbor_alltoallw, neighbor_alltoallw};
pub(crate) use nonblocking::{iallreduce, ibarrier, iexscan, ireduce, ireduce_scatter, iscan};
pub(crate) use reduce::reduce;
pub(crate) use reduce_local::reduce_local;
pub(crate) use reduce_scatter::reduce_scatter;
pub(crate) use scan::{exscan, scan};
pub(crate) use scatter::{iscatter, scatter};
