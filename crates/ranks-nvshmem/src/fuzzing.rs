//! Access for fuzz targets to this crate's inside.

pub use crate::pe::agreement::fuzzing::{compare, said};
