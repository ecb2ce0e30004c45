//! What fuzz targets see of this crate's inside.

/// What the TCP store says and hears.
pub mod store {
    pub use crate::bootstrap::tcp_store::fuzzing::{Store, answers, requests};
}
pub use crate::topology::fuzzing::{answers, topology};
