//! What fuzz targets see of this crate's inside: what the TCP store says and hears.

pub use crate::tcp_store::fuzzing::{Store, answers, requests};
