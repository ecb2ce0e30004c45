//! Collective communication among GPUs by NCCL, which is found at run time.
//!
//! [`NcclCommunicator::new`] makes one rank of a communicator over any
//! [`Bootstrap`](ranks_bootstrap::Bootstrap); [`NcclCommunicator::on_devices`] makes all of them in
//! one process. Nothing here needs NCCL, CUDA or a GPU to build or to start: without them making a
//! communicator is an `Err` of kind [`NotAvailable`](ranks_comm::ErrorKind::NotAvailable), the same
//! on every rank.
//!
//! ```
//! use ranks::collectives::ops::Sum;
//! use ranks::nccl::{NcclCommunicator, NcclOptions};
//!
//! /// The sum over all ranks of as many ones, each on the GPU of its rank's number.
//! fn ones(world: &ranks::Communicator) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
//!     let comm = NcclCommunicator::new(world, world.rank(), &NcclOptions::new())?;
//!     let stream = comm.context().stream()?;
//!     let mut data = comm.context().device_vec_of(&[1.0_f32; 4])?;
//!     comm.scope(&stream, |queue| queue.allreduce_in_place(&mut data, Sum))?;
//!     Ok(data.to_vec()?)
//! }
//! ```
//!
//! | topic | here |
//! |---|---|
//! | communicators, splits of them, their end | [`NcclCommunicator`], [`NcclOptions`], [`NcclId`], [`ShrinkMode`] |
//! | operations of all ranks, messages | methods of [`NcclCommunicator`] and of [`Queue`]; many at once: [`group`](group()) |
//! | reductions | those of `ranks-collectives` that are a [`Reduction`]; [`PreMulSum`] |
//! | elements | [`Element`]: numbers, [`Fp8E4m3`], [`Fp8E5m2`]; with the feature `half` `f16` and `bf16` |
//! | memory that NCCL knows, puts to it | [`Registered`], [`Window`] |
//! | frameworks that have addresses | [`RawNccl`] |
//!
//! # Operations
//!
//! An operation is enqueued on a stream, and goes on when its call has returned. There are three
//! ways to hold its memory meanwhile:
//!
//! | | memory | over |
//! |---|---|---|
//! | methods of [`NcclCommunicator`] | is moved in | by [`Enqueued::wait`](ranks_cuda::Enqueued::wait), or in the order of a stream by [`enqueue_wait`](ranks_cuda::Enqueued::enqueue_wait) |
//! | methods of [`Queue`] in [`NcclCommunicator::scope`] | is borrowed | when the scope ends |
//! | methods of [`Queue`] in [`Group::on`] | is borrowed | in the order of the stream, or by [`NcclCommunicator::synchronize`] |
//!
//! Names are MPI's: `bcast` is `ncclBroadcast`, `reduce_scatter_block` is `ncclReduceScatter`.
//! Counts are those of slices. All ranks call the same operations in the same order, with lengths,
//! types, roots and reductions that fit each other: NCCL cannot see if they do not. An operation
//! waits for whoever is known to work on its memory
//! ([`DeviceSlice::order_after_use`](ranks_cuda::DeviceSlice::order_after_use)).
//!
//! A communicator may be used from any thread. One call is made at a time; `abort` does not wait
//! for the others.
//!
//! # Errors
//!
//! A communicator works until it is finalized or aborted. It is aborted by
//! [`NcclCommunicator::abort`], when NCCL reports a failure of the communicator itself (a peer is
//! gone, a device failed), and when a time limit passes ([`NcclOptions::time_limit`]): NCCL then
//! gives up what is under way, and every later call is an `Err` of kind
//! [`Aborted`](ranks_comm::ErrorKind::Aborted) that tells why. After an argument that NCCL refuses
//! it goes on, unless NCCL itself says that it cannot.
//!
//! Every operation has these errors besides its own: [`Argument`](ranks_comm::ErrorKind::Argument)
//! for memory or a stream of another device or driver than the communicator's, for a stream that is
//! being captured into a CUDA graph ([`RawNccl`] is for that), and for a call that owns its memory
//! in a [`group`](group()), which would be enqueued later;
//! [`NotInLibrary`](ranks_comm::ErrorKind::NotInLibrary) for what the library is too old for
//! (elements of eight bits before 2.24); [`Device`](ranks_comm::ErrorKind::Device) for what the
//! driver reports; what NCCL reports, and [`TimedOut`](ranks_comm::ErrorKind::TimedOut), after
//! which the communicator is aborted; [`Aborted`](ranks_comm::ErrorKind::Aborted) from then on.
//!
//! # Settings
//!
//! [`NcclOptions`] has NCCL's own and the time limit. Users name the files of the libraries by
//! environment variables, `RANKS_NCCL` and `RANKS_CUDA`; NCCL reads its own besides.
//!
//! # What it does not do
//!
//! It moves memory of GPUs alone. Code on GPUs that communicates by itself (`nccl_device.h`) has no
//! form here.
#![cfg_attr(doc, doc = concat!(
    "\n# The guide\n\n[GPUs](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/gpus.md), ",
    "[environment variables](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/environment.md).",
))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

mod call;
mod communicator;
mod element;
mod error;
mod memory;
mod one_sided;
mod options;
mod owned;
mod queue;
mod raw;
mod reduction;
mod state;

pub use communicator::NcclCommunicator;
pub use communicator::id::NcclId;
pub use communicator::properties::NcclProperties;
pub use communicator::split::ShrinkMode;
pub use element::{Element, Fp8E4m3, Fp8E5m2};
pub use memory::registration::Registered;
pub use memory::window::Window;
pub use options::{CtaPolicy, NcclOptions};
pub use queue::Queue;
pub use queue::group::{Group, group};
pub use raw::RawNccl;
pub use reduction::Reduction;
pub use reduction::pre_mul_sum::PreMulSum;
pub use state::time_limit::NcclWatch;
