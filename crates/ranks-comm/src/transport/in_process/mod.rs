//! Ranks as threads of this process: mailboxes instead of a library.
//!
//! A [`World`](world::World) holds a mailbox for every rank. A send copies the bytes into the
//! receiver's mailbox and returns; a receive takes the first message that matches and waits on a
//! condition variable if there is none. No unsafe code, and nothing here panics.

pub(crate) mod agreements;
pub(crate) mod buffered;
pub(crate) mod channels;
pub(crate) mod comm;
pub(crate) mod exchange;
pub(crate) mod exchanges;
pub(crate) mod failures;
pub(crate) mod layout;
pub(crate) mod lock;
pub(crate) mod mailbox;
pub(crate) mod meetings;
pub(crate) mod messages;
pub(crate) mod partitioned;
pub(crate) mod payload;
pub(crate) mod pending_op;
pub(crate) mod place;
pub(crate) mod share;
pub(crate) mod shared;
pub(crate) mod topology;
pub(crate) mod waiting;
pub(crate) mod watch;
pub(crate) mod world;

pub use comm::Comm;
pub(crate) use payload::{Matched, Sent};
pub(crate) use pending_op::PendingOp;
pub use watch::Watch;
