//! What the sibling crates see of this one's inside.

pub use crate::readiness::{all_succeed, same_version};
