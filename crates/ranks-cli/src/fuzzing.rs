//! Access to this crate's inside for fuzz targets.

pub use crate::postmortem::fuzzing::report;
pub use crate::timeline::fuzzing::traced;
