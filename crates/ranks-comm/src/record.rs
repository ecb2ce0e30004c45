//! What every rank has called last: always on, read when something went wrong.
//!
//! Each communicator has two rings of its last calls, one of collectives and one of everything else (`recorder.rs`). Writing
//! there is a few stores with no lock, so that it is done on the express ways too; there is no clock in it. Where somebody
//! wants to know more (a time limit, statistics, a timeline), the express ways are held closed and each call
//! is in the list of those under way besides (`under_way.rs`).

mod call;
pub(crate) mod dump;
mod kind;
mod known;
mod recorded;
mod recorder;
mod ring;

pub use call::Call;
pub use kind::{Class, Kind, Name, Ranks};
pub(crate) use kind::{START, TEST, WAIT};
pub use recorded::{Over, Recorded};
pub(crate) use recorder::{Home, Recorder};
pub(crate) use ring::Ring;
