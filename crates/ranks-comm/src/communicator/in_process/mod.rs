//! Communicators that are made of others, among threads.

pub(crate) mod agree;
pub(crate) mod environment;
pub(crate) mod fault_tolerance;
pub(crate) mod intercommunicator;
pub(crate) mod split;
