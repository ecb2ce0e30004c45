//! What fuzz targets see of this crate's inside.

pub use crate::agree::fuzzing::{compare, said};
