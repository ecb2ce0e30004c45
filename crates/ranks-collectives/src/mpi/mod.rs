//! Collectives over an MPI library: one call each, and one look at its return code.
//!
//! Blocks of up to 2³¹ − 1 items go through the functions of MPI 1 with handles in the library's own form, larger
//! ones through `large` and its kin.
//!
//! # Safety
//!
//! Every call hands libmpi pointers and counts. Four facts make them sound, and each is established in one place:
//!
//! * The memory behind a pointer is as large as the counts say: [`Transfer`](crate::transfer::Transfer) is made
//!   only from slices whose lengths fit the operation on the communicator that it is then used with (the
//!   functions at the top of this crate pass the same one), its kin in `varying`, `layouts` and `neighbors` only from blocks that lie in
//!   their slices, as many as the library's topology has neighbours, and [`TypeOf`](ranks_comm::backend::TypeOf) counts
//!   the same bytes in MPI's terms.
//! * An empty slice is given as the address of a static (`pointer`), because its own pointer may have the
//!   value of a sentinel such as `MPI_IN_PLACE`, which stands for a slice that is not there and for nothing else.
//! * What is called back for an operation of the program's is there as long as the call lasts (`user_op`).
//! * The library is loaded, initialised and not finalized: a [`Comm`](ranks_comm::backend::MpiComm) exists only
//!   then, and `Communicator::express` or `dispatch` has let the operation in.
//!
//! A blocking operation is over with its buffers when it returns. One that returns at once is handed memory that lasts until
//! it is over: [`Lasting`](crate::lasting::Lasting) slices, and what it keeps besides (`begun`). One that the library keeps
//! (`persistent`) is handed the same until it is freed.
#![allow(unsafe_code)]

mod allgather;
mod allgatherv;
mod allreduce;
mod alltoall;
mod alltoallv;
mod barrier;
mod bcast;
mod begun;
mod datatype;
mod exscan;
mod gather;
mod gatherv;
pub(crate) mod in_pieces;
mod intercommunicators;
mod large;
mod large_reductions;
mod large_varying;
mod lasting_layouts;
mod layouts;
mod neighbor_order;
mod neighbors;
mod nonblocking;
mod nonblocking_neighbors;
mod nonblocking_reductions;
mod nonblocking_varying;
mod operation;
mod packed;
mod persistent;
mod persistent_neighbors;
mod persistent_reductions;
mod persistent_varying;
mod pointer;
mod reduce;
mod reduce_local;
mod reduce_scatter;
mod reduce_scatter_block;
mod scan;
mod scatter;
mod scatterv;
mod typed_blocks;
mod user_op;

pub(crate) use allgather::{allgather, allgather_small};
pub(crate) use allgatherv::{allgatherv, allgatherv_small};
pub(crate) use allreduce::{allreduce, allreduce_small};
pub(crate) use alltoall::{alltoall, alltoall_small};
pub(crate) use alltoallv::alltoallv;
pub(crate) use barrier::barrier;
pub(crate) use bcast::{bcast, bcast_small};
pub(crate) use exscan::{exscan, exscan_small};
pub(crate) use gather::{gather, gather_small};
pub(crate) use gatherv::gatherv;
pub(crate) use intercommunicators::{allgather_between, bcast_between};
pub(crate) use lasting_layouts::{
    alltoallw_init, ialltoallw, ineighbor_alltoallw, neighbor_alltoallw_init,
};
pub(crate) use layouts::{alltoallw, neighbor_alltoallw};
pub(crate) use neighbors::{neighbor_allgather, neighbor_allgatherv, neighbor_alltoallv};
pub(crate) use nonblocking::{iallgather, ialltoall, ibarrier, ibcast, igather, iscatter};
pub(crate) use nonblocking_neighbors::{
    ineighbor_allgather, ineighbor_allgatherv, ineighbor_alltoallv,
};
pub(crate) use nonblocking_reductions::{
    iallreduce, iexscan, ireduce, ireduce_scatter, ireduce_scatter_block, iscan, keeping,
};
pub(crate) use nonblocking_varying::{iallgatherv, ialltoallv, igatherv, iscatterv};
pub(crate) use persistent::{
    allgather_init, alltoall_init, barrier_init, bcast_init, gather_init, keeps_collectives,
    scatter_init,
};
pub(crate) use persistent_neighbors::{
    neighbor_allgather_init, neighbor_allgatherv_init, neighbor_alltoallv_init,
};
pub(crate) use persistent_reductions::{
    allreduce_init, exscan_init, reduce_init, reduce_scatter_block_init, reduce_scatter_init,
    scan_init,
};
pub(crate) use persistent_varying::{allgatherv_init, alltoallv_init, gatherv_init, scatterv_init};
pub(crate) use reduce::{reduce, reduce_small};
pub(crate) use reduce_local::reduce_local;
pub(crate) use reduce_scatter::reduce_scatter;
pub(crate) use reduce_scatter_block::{reduce_scatter_block, reduce_scatter_block_small};
pub(crate) use scan::{scan, scan_small};
pub(crate) use scatter::{scatter, scatter_small};
pub(crate) use scatterv::scatterv;
