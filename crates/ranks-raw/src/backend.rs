//! What the sibling crates see of this one's inside.

pub use crate::driver::of_driver;
