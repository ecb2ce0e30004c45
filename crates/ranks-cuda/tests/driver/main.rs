//! The driver's double, through all that this crate makes of it.
#![allow(clippy::unwrap_used, reason = "a test")]

mod children;
#[cfg(feature = "cudarc")]
mod cudarc;
mod double;
mod failures;
mod loading;
mod memory;
mod modules;
mod order;
