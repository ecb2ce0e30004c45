//! Communicators over an MPI library: the unsafe twin of the safe layer, under the same file names.
//!
//! Calls on the fast path go through `ranks_mpi_sys::native`, with the library's own handles; the
//! rest through the functions of the standard.
//!
//! # Safety
//!
//! Every call hands libmpi handles, pointers and counts. Four facts make them sound, each
//! established in one place:
//!
//! * The library is loaded, initialised and not finalized: a [`Comm`] is made by [`session`] after
//!   `MPI_Init_thread` and keeps the session alive, and `MPI_Finalize` runs when the session is
//!   dropped. An operation is started by `Communicator::fast_path`, `dispatch` or `enter` only,
//!   which ask `THREAD_GUARD` whether this thread may.
//! * Memory is as large as the counts say: a pointer and its count come from one slice
//!   ([`buffer`]), and what they count is whole elements of a type without padding or invalid
//!   values ([`Pod`](crate::data::element::Pod)).
//! * No more than that is ever written: [`recv`] knows which libraries do not stop at the end of a
//!   buffer.
//! * Ranks and tags are in range, by the checks of `Communicator` before each operation.
//!
//! A blocking operation does not use its buffers after it has returned.
#![allow(unsafe_code)]

pub(crate) mod attributes;
pub(crate) mod begun;
pub(crate) mod buffer;
pub(crate) mod buffered;
pub(crate) mod child;
pub(crate) mod children;
pub(crate) mod claims;
pub(crate) mod communicator;
pub(crate) mod datatypes;
pub(crate) mod deferred_free;
pub(crate) mod detached;
pub(crate) mod error;
pub(crate) mod exchange;
pub(crate) mod fast_path;
pub(crate) mod fault_tolerance;
pub(crate) mod free_by_group;
pub(crate) mod gather_statistics;
pub(crate) mod info;
pub(crate) mod internal_comm;
pub(crate) mod layout;
pub(crate) mod level;
pub(crate) mod message;
pub(crate) mod network_atomics;
mod nonblocking;
pub(crate) mod object_name;
pub(crate) mod oneself;
pub(crate) mod over_hosts;
pub(crate) mod overruns;
pub(crate) mod pack;
pub(crate) mod parameters;
pub(crate) mod peer;
pub(crate) mod pending_op;
pub(crate) mod probe;
pub(crate) mod progress;
pub(crate) mod query_ranks;
pub(crate) mod receives;
pub(crate) mod recv;
pub(crate) mod send;
pub(crate) mod send_mode;
pub(crate) mod sendrecv;
pub(crate) mod session;
pub(crate) mod status;
pub(crate) mod topology;
pub(crate) mod turn;
pub(crate) mod unreceived;
pub(crate) mod unsigned_extremes;
pub(crate) mod waitall;

pub use child::{Child, FreedTogether};
pub use communicator::Comm;
pub(crate) use error::library;
pub use error::{check, check_collective, check_with};
pub(crate) use fast_path::{CommFastPath, Unclaimed};
pub use info::InfoHandle;
pub use layout::Portion;
pub(crate) use message::Message;
pub use network_atomics::{WrongAtomics, wrong_atomics};
pub use object_name::object_name;
pub(crate) use pending_op::{Cell, Native};
pub(crate) use send_mode::SendMode;
pub(crate) use session::{Wishes, start};
pub use unsigned_extremes::is_wrong_extreme;
