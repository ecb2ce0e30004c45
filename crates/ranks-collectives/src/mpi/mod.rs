//! Collectives over an MPI library: one call each, and one look at its return code.
//!
//! `functions` has the C functions of each operation. `transfers`, `reductions` and `varying` call
//! them in each form: with `int`s and handles in the library's own form where an `int` can count
//! the items, by the large-count functions elsewhere.
//!
//! # Safety
//!
//! Every call hands libmpi pointers and counts. Four facts make them sound, and each is established
//! in one place:
//!
//! * The memory behind a pointer is as large as the counts say:
//!   [`Transfer`](crate::arguments::transfer::Transfer) is made only from slices whose lengths fit
//!   the operation on the communicator that it is then used with (the rows of `moves` and
//!   `reductions` name operation and proof together, and the forms there pass one communicator), its
//!   kin in `varying`, `layouts` and `neighbors` only from blocks that lie in their slices, as many
//!   as the library's topology has neighbours, and [`TypeOf`](ranks_comm::backend::TypeOf) counts
//!   the same bytes in MPI's terms.
//! * An empty slice is given as the address of a static (`pointer`), because its own pointer may
//!   have the value of a sentinel such as `MPI_IN_PLACE`, which stands for a slice that is not
//!   there and for nothing else.
//! * What is called back for an operation of the program's is there as long as the call lasts
//!   (`user_op`).
//! * The library is loaded, initialised and not finalized: a [`Comm`](ranks_comm::backend::MpiComm)
//!   exists only then, and `Communicator::fast_path` or `dispatch` has let the operation in.
//!
//! A blocking operation is done with its buffers when it returns. A nonblocking one is handed
//! memory that lasts until it is complete: [`Stable`](crate::in_flight::stable::Stable) slices, and
//! what it keeps besides (`begun`). A persistent one is handed the same until it is freed.
#![allow(unsafe_code)]

mod barrier;
mod begun;
pub(crate) mod exchanges;
pub(crate) mod functions;
pub(crate) mod gatherings;
mod in_pieces;
pub(crate) mod intercommunicators;
mod large_varying;
pub(crate) mod layouts;
mod neighbor_order;
pub(crate) mod neighbors;
mod operation;
mod packed;
mod pointer;
mod reduce_local;
pub(crate) mod reductions;
pub(crate) mod scatterings;
pub(crate) mod transfers;
mod user_op;
mod varying;

pub(crate) use barrier::{barrier, barrier_init, ibarrier};
pub(crate) use operation::{OwnedOperation, predefined};
pub(crate) use reduce_local::reduce_local;

/// Returns `true` if the library has persistent collectives, good ones or bad. It is so on all
/// ranks or on none: they use the same library.
pub(crate) fn keeps_collectives() -> bool {
    functions::is_in_library("MPI_Gather_init")
}
