//! Threads of a model.

pub use loom::thread::{JoinHandle, spawn, yield_now};
pub use std::thread::available_parallelism;
