//! Messages between two ranks.

pub(crate) mod buffered;
mod irecv;
mod isend;
pub(crate) mod message;
pub(crate) mod outbox;
mod packed;
mod probe;
mod recv;
mod send;
mod sendrecv;
#[cfg(feature = "serde")]
pub(crate) mod value;
pub(crate) mod views;
