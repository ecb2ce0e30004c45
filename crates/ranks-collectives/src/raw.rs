//! Collective communication over addresses: object-safe, for frameworks whose tensors know their type at run time only.
//!
//! [`RawCollectives`] is the trait, and [`RawComm`] implements it over MPI and in process. A framework that holds an `Arc<dyn RawCollectives>` runs over MPI, in process and over NCCL.
#![allow(unsafe_code)]

mod arguments;
#[cfg(feature = "conformance")]
pub mod conformance;
mod device;
mod driver;
mod dtype;
mod failure;
mod numbers;
mod op;
mod operations;
mod options;
mod place;
mod pool;
mod raw_collectives;
mod raw_comm;
mod stream_sync;
mod takes;
mod under_way;

pub use driver::of_driver;
pub use dtype::Dtype;
pub use op::RawOp;
pub use options::RawOptions;
pub use raw_collectives::RawCollectives;
pub use raw_comm::RawComm;
pub use stream_sync::StreamSync;
pub use takes::Takes;
