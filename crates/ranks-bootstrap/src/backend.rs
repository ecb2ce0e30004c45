//! The parts of this crate that its sibling crates see.

pub use crate::readiness::{all_succeed, same_version};
