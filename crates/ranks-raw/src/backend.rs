//! The parts of this crate that its sibling crates see.

mod waiting;

pub use self::waiting::{Deadline, drain};
pub use crate::driver::of_driver;
pub use crate::raw_collectives::dtype::bytes_of;
