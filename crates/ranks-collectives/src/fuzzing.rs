//! What fuzz targets see of this crate's inside.

pub use crate::topology::fuzzing::{answers, topology};
