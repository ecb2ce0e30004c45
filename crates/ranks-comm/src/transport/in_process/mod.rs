//! Ranks as threads of this process: mailboxes instead of a library.
//!
//! A [`World`](world::World) holds a mailbox for every rank. A send copies the bytes into the
//! receiver's [`inbox`] and returns; a receive takes the first message that matches. A wait looks
//! for a moment, if each rank has a core, and then sleeps on a condition variable.
//!
//! Collectives need no copies. Where all ranks need something of all, they come together in rounds
//! at the [`board`] of their communicator, and each reads what the others lend. Where one sends to
//! some, its long [messages](lending) are lent. What is lent is read under a lock, a piece at a
//! time, and taken back under the same lock before the owner returns, whatever makes it return: a
//! rank that leaves at a time limit, with an error or with a panic waits for the piece that is
//! being read, and whoever comes later is told that it has left. Results of large reductions are
//! written to the memory of other ranks in the same way, each part by one rank ([`places`]).
//!
//! The unsafe code is in [`loan`] and [`places`]; nothing here panics.

pub(crate) mod agreements;
pub(crate) mod board;
pub(crate) mod buffered;
pub(crate) mod channels;
pub(crate) mod collective;
pub(crate) mod comm;
pub(crate) mod common;
pub(crate) mod contexts;
mod copied;
mod ends;
pub(crate) mod exchange;
pub(crate) mod failures;
pub(crate) mod inbox;
pub(crate) mod layout;
pub(crate) mod lending;
pub(crate) mod lists;
pub(crate) mod loan;
pub(crate) mod mailbox;
pub(crate) mod meetings;
pub(crate) mod membership;
pub(crate) mod messages;
pub(crate) mod partitioned;
pub(crate) mod patience;
pub(crate) mod payload;
pub(crate) mod pending_op;
mod places;
pub(crate) mod round;
pub(crate) mod share;
pub(crate) mod survivors;
pub(crate) mod topology;
mod unreceived;
pub(crate) mod waiting;
mod watch;
pub(crate) mod world;

pub use collective::Collective;
pub use comm::Comm;
pub use lending::{Lending, Taken};
pub(crate) use mailbox::Envelope;
pub(crate) use payload::Sent;
pub(crate) use pending_op::{Arrived, PendingOp};
pub use round::{INLINE, KIND, Round};
