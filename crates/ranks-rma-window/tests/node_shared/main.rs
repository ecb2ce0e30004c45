//! Arrays of which each node has one copy, on every backend.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod preflight;
