//! Windows on every backend.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    reason = "a failure is a failed test, and samples are small"
)]

mod callbacks;
mod creation;
mod dynamic;
mod exposure;
mod fences;
mod huge;
mod interop;
mod layouts;
mod lengths;
mod lifetime;
mod locks;
mod mistakes;
mod names;
mod narrow;
mod pipelined;
mod requests;
mod swaps;
mod words;
