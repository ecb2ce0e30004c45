//! The parts of this crate that fuzz targets see: both sides of a TCP store.

pub use crate::tcp_store::fuzzing::{Store, answers, requests};
