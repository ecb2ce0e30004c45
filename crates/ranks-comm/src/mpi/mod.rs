//! Communicators over an MPI library: the unsafe twin of the safe layer, under the same file names.
//!
//! Calls on the fast path go through `ranks_mpi_sys::native`, with the library's own handles; the rest through the
//! functions of the standard.
//!
//! # Safety
//!
//! Every call hands libmpi handles, pointers and counts. Four facts make them sound, each established in one place:
//!
//! * The library is loaded, initialised and not finalized: a [`Comm`] is made by [`session`] after `MPI_Init_thread`
//!   and keeps the session alive, and `MPI_Finalize` runs when the session is dropped. An operation is started by
//!   `Communicator::fast_path`, `dispatch` or `enter` only, which ask [`THREAD_GUARD`] whether this thread may.
//! * Memory is as large as the counts say: a pointer and its count come from one slice ([`buffer`]), and what
//!   they count is whole elements of a type without padding or invalid values ([`Pod`](crate::element::Pod)).
//! * No more than that is ever written: [`recv`] knows which libraries do not stop at the end of a buffer.
//! * Ranks and tags are in range, by the checks of `Communicator` before each operation.
//!
//! A blocking operation does not use its buffers after it has returned.
#![allow(unsafe_code)]

mod agree;
mod any;
mod attributes;
mod batch;
mod buffer;
mod buffered;
mod cartesian;
mod child;
mod children;
mod claims;
mod communicator;
mod datatypes;
mod deferred_free;
mod detached;
mod dist_graph;
mod element;
mod environment;
mod error;
mod exchange;
mod fast_path;
mod fault_tolerance;
mod foreign;
mod free_by_group;
mod gather_statistics;
mod graph;
mod info;
mod internal_comm;
mod interop;
mod last_resort;
mod layout;
mod level;
mod message;
mod network_atomics;
mod oneself;
mod over_hosts;
mod overruns;
mod pack;
mod parameters;
mod partitioned;
mod peer;
pub(crate) mod pending_op;
mod persistent;
mod probe;
mod progress;
pub(crate) mod query_ranks;
mod receives;
mod recv;
mod send;
mod send_mode;
mod sendrecv;
mod session;
mod side;
mod split;
pub(crate) mod status;
mod topology;
mod turn;
mod waitall;

pub(crate) use any::wait_any;
pub(crate) use batch::{Batch, Rooms};
pub(crate) use cartesian::dims_create;
pub use child::{Child, FreedTogether};
pub use communicator::Comm;
pub(crate) use element::Item;
pub use element::TypeOf;
pub(crate) use error::library;
pub use error::{check, check_with};
pub(crate) use fast_path::{Lanes, Unclaimed, Way};
pub(crate) use foreign::{ForeignHandle, SharedDatatype};
pub use info::InfoHandle;
pub(crate) use interop::{request_c_handle, request_handle};
pub(crate) use last_resort::{abort_for_sure, end_now, end_soon};
pub use layout::Portion;
pub(crate) use message::Message;
pub use network_atomics::network_atomics_are_wrong;
pub(crate) use partitioned::Parts;
pub(crate) use pending_op::{Cell, Native, PendingOp};
pub(crate) use persistent::{Silent, finish_all};
pub(crate) use send_mode::SendMode;
pub(crate) use session::{THREAD_GUARD, Wishes, start};
pub(crate) use side::{ROOMS, Side};
