//! Ranks as threads of this process: mailboxes instead of a library.
//!
//! A [`World`](world::World) holds a mailbox for every rank. A send copies the bytes into the receiver's mailbox and
//! returns; a receive takes the first message that matches and waits on a condition variable if there is none. No
//! unsafe code, and nothing here panics.

mod agree;
mod agreements;
mod buffered;
mod comm;
mod environment;
mod exchange;
mod failures;
mod fault_tolerance;
mod intercommunicator;
mod layout;
mod mailbox;
mod meetings;
mod messages;
pub(crate) mod partitioned;
mod payload;
mod pending_op;
pub(crate) mod place;
mod shared;
mod split;
mod topology;
mod waiting;
mod watch;
pub(crate) mod world;

pub use comm::Comm;
pub(crate) use comm::LIBRARY;
pub(crate) use payload::{Matched, Sent};
pub(crate) use pending_op::PendingOp;
pub use watch::Watch;
