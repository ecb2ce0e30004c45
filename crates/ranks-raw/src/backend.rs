//! The parts of this crate that its sibling crates see.

pub use crate::driver::of_driver;
