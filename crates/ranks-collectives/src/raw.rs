//! Collective communication over addresses: object-safe, for frameworks whose tensors know their type at run time only.
//!
//! [`RawCollectives`] is the trait. A framework that holds an `Arc<dyn RawCollectives>` runs over MPI, in process and over NCCL.
#![allow(unsafe_code)]

#[cfg(feature = "conformance")]
pub mod conformance;
mod dtype;
mod op;
mod raw_collectives;
mod stream_sync;
mod takes;

pub use dtype::Dtype;
pub use op::RawOp;
pub use raw_collectives::RawCollectives;
pub use stream_sync::StreamSync;
pub use takes::Takes;
