//! How ranks tell each other what they need: over a communicator, as threads, and over a store.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod communicator;
mod tcp;
mod threads;
