//! Operations in the order of a stream: on what a scope borrows ([`queue`]), and on what they own
//! ([`enqueued`]).
//!
//! [`reach`] is the part of a PE that operations need.

pub(crate) mod enqueued;
pub(crate) mod queue;
pub(crate) mod reach;
pub(crate) mod scope;
