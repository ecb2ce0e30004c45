//! What fuzz targets see of this crate's inside.

pub use crate::postmortem::fuzzing::report;
pub use crate::timeline::fuzzing::traced;
