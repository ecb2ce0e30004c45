//! Exchanges of what ranks need from each other: over a communicator, as threads, and over a store.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod communicator;
mod tcp;
mod threads;
mod world_size;
