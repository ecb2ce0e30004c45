//! Interface for the sibling crates: the two backends of a communicator, and operations on them.

pub use ranks_launch::Count;
pub use ranks_trace::{
    Facts as CallFacts, Track, host, is_observed, opened, printable, unobserved,
};

pub use crate::call::call_description::CallDescription;
pub use crate::call::call_guard::CallGuard;
pub use crate::call::callback::{do_what_is_left, in_callback};
pub use crate::call::calling_back::calling_back;
pub use crate::call::checks::cut;
pub use crate::call::identity::digest;
pub use crate::call::identity::unused_number;
pub use crate::call::last_words::last_words;
pub use crate::call::limit::Pause;
pub use crate::call::limit::look;
pub use crate::call::observe::observed;
pub use crate::call::rank_list::RankList;
pub use crate::data::datatype::TypeOf;
pub use crate::data::element::pack::arrived;
pub use crate::data::in_flight::{InFlight, Keep};
pub use crate::data::lent::{Lent, Places};
pub use crate::data::owned::Plain;
pub use crate::data::raw_slice::{OpInfo, RawSlice};
pub use crate::op::persistent::Again;
#[cfg(feature = "serde")]
pub use crate::p2p::value::{from_bytes, to_bytes};
pub use crate::result::parts_of;
pub use crate::runtime::run::{message_of_panic, to_its_end};
pub use crate::runtime::settings::{MOST_THREADS, checks, refused};
pub use crate::transport::backend::{Backend, StartedOp};
pub use crate::transport::in_process::{
    Collective, Comm as InProcessComm, INLINE, KIND, Lending, Round, Taken,
};
pub use crate::transport::join::Join;
pub use crate::transport::mpi::{
    Child, Comm as MpiComm, FreedTogether, InfoHandle, Portion, WrongAtomics, check,
    check_collective, check_with, is_wrong_extreme, object_name, wrong_atomics,
};
pub use crate::transport::pending_op::Deferred;
pub use crate::transport::scatter::Spread;
