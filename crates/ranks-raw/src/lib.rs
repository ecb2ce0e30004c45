//! Collective communication over addresses: object-safe, for frameworks whose tensors know their
//! type at run time only.
//!
//! [`RawCollectives`] is the trait, and [`RawComm`] implements it over MPI and in process. A
//! framework that holds an `Arc<dyn RawCollectives>` runs over MPI, in process and over NCCL.
//!
//! ```
//! use std::ffi::c_void;
//!
//! use ranks::raw::{Dtype, RawCollectives, RawOp};
//!
//! fn sum(comm: &dyn RawCollectives, data: &mut [f32]) -> ranks::Result<()> {
//!     let (address, count): (*mut c_void, _) = (data.as_mut_ptr().cast(), data.len());
//!     // SAFETY: `data` is there, and nobody looks at it, until `sync` has returned.
//!     unsafe { comm.allreduce(address, address, count, Dtype::F32, RawOp::Sum) }?;
//!     comm.sync()
//! }
//! ```
#![deny(unsafe_code)]

mod arguments;
#[doc(hidden)]
pub mod backend;
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

pub use dtype::Dtype;
pub use op::RawOp;
pub use options::RawOptions;
pub use raw_collectives::RawCollectives;
pub use raw_comm::RawComm;
pub use stream_sync::StreamSync;
pub use takes::Takes;
