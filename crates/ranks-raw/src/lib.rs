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
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

#[doc(hidden)]
pub mod backend;
mod driver;
mod memory;
mod raw_collectives;
mod raw_comm;

pub use raw_collectives::RawCollectives;
pub use raw_collectives::dtype::Dtype;
pub use raw_collectives::op::RawOp;
pub use raw_collectives::stream_sync::StreamSync;
pub use raw_collectives::takes::Takes;
pub use raw_comm::RawComm;
pub use raw_comm::options::RawOptions;
