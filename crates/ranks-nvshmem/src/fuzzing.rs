//! Access for fuzz targets to this crate's inside.

pub use crate::agree::fuzzing::{compare, said};
