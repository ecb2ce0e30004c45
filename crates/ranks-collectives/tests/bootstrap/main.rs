//! How ranks that have no communicator find each other: as threads, and over a store.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod tcp;
mod threads;
