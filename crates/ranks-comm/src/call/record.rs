//! The recorder: the last calls of every rank, always on, read when something went wrong.
//!
//! Each communicator has two rings of its last calls, one of collectives and one of all others
//! (`recorder.rs`). Writing to them is a few stores without a lock, so that it is done on the fast
//! path too; no clock is read. Where more is wanted (a time limit, statistics, a timeline), the
//! fast path is held closed and each call is in the list of calls in flight besides
//! (`inflight_calls.rs`).

mod call;
pub(crate) mod dump;
mod kind;
mod known;
mod recorded;
mod recorder;
mod ring;

pub use call::Call;
pub(crate) use call::{ANY, NONE};
pub use kind::{Class, Kind, Name, Ranks};
pub(crate) use kind::{START, TEST, WAIT};
pub use recorded::{Over, Recorded};
pub(crate) use recorder::Recorder;
pub(crate) use ring::Ring;

/// The name of the in-process backend, where a library has its own.
pub(crate) const IN_PROCESS: &str = "in process";
