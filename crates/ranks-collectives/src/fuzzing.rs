//! The parts of this crate that fuzz targets see.

pub use crate::topology::fuzzing::{answers, topology};
