//! Windows among the thread-ranks of one process.
//!
//! The memory of each rank is a [segment] behind a mutex, under which every access of a peer
//! happens, and those of its owner while peers may access it. A segment says itself whom it admits:
//! nobody while its owner may hold references into it, all during an epoch between fences, whoever
//! holds a lock on it, whoever has started an access epoch for which it was posted. So ranks that
//! are out of step get an error, and there is no race between threads whatever they do. Waiting
//! ends in an error if the rank that is waited for has ended or dropped the window.

mod accumulate;
mod exposure;
mod passive;
mod region;
mod segment;
mod window;

pub(crate) use window::LocalWindow;
