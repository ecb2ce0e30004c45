//! numr's communicator over MPI, in process, and over NCCL.
//!
//! [`NumrCommunicator`] implements numr's `Communicator` and, over NCCL, its `StreamSyncOps`.
//! Programs that hold an `Arc<dyn Communicator>`, as boostr's do, run on any of them without a
//! change:
//!
//! ```
//! # #[cfg(not(feature = "numr-0_14"))]
//! # fn main() {}
//! # #[cfg(feature = "numr-0_14")]
//! # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! use std::sync::Arc;
//! # use numr_0_14 as numr;
//! use numr::dtype::DType;
//! use numr::runtime::{Communicator, ReduceOp};
//! use ranks_numr::{NumrCommunicator, NumrOptions};
//!
//! ranks_comm::run(|world| {
//!     let comm: Arc<dyn Communicator> = Arc::new(NumrCommunicator::over(&world, NumrOptions::new())?);
//!     let mut gradient = [1.0_f32; 4];
//!     // SAFETY: the address is that of four elements, and they stay where they are until `sync` has returned.
//!     unsafe { comm.all_reduce(gradient.as_mut_ptr() as u64, 4, DType::F32, ReduceOp::Sum)? };
//!     comm.sync()?;
//!     assert_eq!(gradient, [world.size() as f32; 4]);
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # Versions
//!
//! | feature | numr | the Rust that it needs |
//! |---|---|---|
//! | `numr-0_14` | =0.14.0 | 1.95 |
//! | `numr-0_5` | =0.5.2 | 1.89 |
//!
//! numr's minor releases change its interface, so each is pinned, and a program turns on the one
//! that it uses. None is on by itself. Both may be on: one type implements the traits of both.
//!
//! # What an implementation of numr's trait may do in several ways
//!
//! | | here |
//! |---|---|
//! | completion | operations are nonblocking; results may be read, and memory changed, after `sync` or `barrier` |
//! | addresses | of the host over MPI and in process, of the GPU over NCCL, as [`RawCollectives::takes`] says |
//! | sends, over MPI and in process | `sync` does not wait until the other side has posted a receive: what is sent is copied first. So two neighbours may both send, `sync`, and receive then |
//! | messages | a shorter one than the receive has room for is received, over MPI and in process; NCCL wants the lengths equal |
//! | element types | all can be moved; whether one is reduced, [`NumrCommunicator::supports`] tells |
//! | order of a sum | in process that of ranks; the library's own over MPI and NCCL, unless [`NumrOptions::rank_order`] asks for that of ranks |
//! | a NaN in `Min` and `Max` | the library's affair; with [`NumrOptions::rank_order`] a number wins |
//! | `split` | always gives a communicator: all ranks are of some color |
//! | ranks that call differently | an error on all ranks, on one that refuses its own call its own, and nothing is done, where calls are compared: [`NumrOptions::compare_calls`] |
//! | one rank | as numr's `NoOpCommunicator`, for arguments that would be right on more of them; any tag will do |
//! | streams | those that [`NumrCommunicator::show_stream`] has shown, and the driver's default ones; any other number is an error |
//! | a drop with operations in flight | waits for them for as long as [`NumrOptions::drop_limit`] says, then logs an error by `tracing` and gives them up |
//!
//! [`RawCollectives::takes`]: ranks_raw::RawCollectives::takes
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
#![cfg_attr(
    not(any(feature = "numr-0_5", feature = "numr-0_14")),
    allow(dead_code, reason = "without a version of numr nobody calls")
)]

mod agreement;
mod calls;
mod communicator;
mod element;
mod failure;
mod options;
mod rank_order;
mod spans;
#[cfg(feature = "numr-0_14")]
mod v0_14;
#[cfg(feature = "numr-0_5")]
mod v0_5;

pub use communicator::NumrCommunicator;
pub use element::{Element, Operation};
pub use options::NumrOptions;
