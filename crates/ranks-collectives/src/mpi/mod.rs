//! Collectives over an MPI library: one call each, and one look at its return code.
//!
//! Blocks of up to 2³¹ − 1 items go through the functions of MPI 1 with handles in the library's own form, larger
//! ones through `large`.
//!
//! # Safety
//!
//! Every call hands libmpi pointers and counts. Three facts make them sound, and each is established in one place:
//!
//! * The memory behind a pointer is as large as the counts say: [`Transfer`](crate::transfer::Transfer) is made
//!   only from slices whose lengths fit the operation on the communicator that it is then used with (the
//!   functions at the top of this crate pass the same one), and [`TypeOf`](ranks_comm::backend::TypeOf) counts
//!   the same bytes in MPI's terms.
//! * An empty slice is given as the address of a static (`pointer`), because its own pointer may have the
//!   value of a sentinel such as `MPI_IN_PLACE`.
//! * The library is loaded, initialised and not finalized: a [`Comm`](ranks_comm::backend::MpiComm) exists only
//!   then, and `Communicator::express` or `dispatch` has let the operation in.
//!
//! A blocking operation is over with its buffers when it returns.
#![allow(unsafe_code)]

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod datatype;
mod gather;
mod large;
mod pointer;
mod reduce;
mod scatter;

pub(crate) use allgather::{allgather, allgather_small};
pub(crate) use allreduce::{allreduce, allreduce_small};
pub(crate) use alltoall::{alltoall, alltoall_small};
pub(crate) use barrier::barrier;
pub(crate) use bcast::{bcast, bcast_small};
pub(crate) use gather::{gather, gather_small};
pub(crate) use reduce::{reduce, reduce_small};
pub(crate) use scatter::{scatter, scatter_small};
