//! Collective communication among GPUs by NCCL, which is found at run time.
//!
//! [`NcclCommunicator::new`] makes one rank of a communicator over any [`Bootstrap`](crate::Bootstrap); [`NcclCommunicator::on_devices`] makes all of
//! them in one process. Nothing here needs NCCL, CUDA or a GPU to build or to start: without them making a communicator is an
//! `Err` of kind [`NotAvailable`](ranks_comm::ErrorKind::NotAvailable), the same on every rank.
//!
//! # When something fails
//!
//! A communicator works until it is finalized or aborted. It is aborted by [`NcclCommunicator::abort`], when NCCL reports a failure of
//! the communicator itself (a peer is gone, a device failed), and when a time limit passes ([`NcclOptions::time_limit`]): NCCL then gives
//! up what is under way, and every later call is an `Err` of kind [`Aborted`](ranks_comm::ErrorKind::Aborted) that tells why. An
//! argument that NCCL refuses leaves it usable.
//!
//! # Threads
//!
//! A communicator may be used from any thread. One call is made at a time; `abort` does not wait for the others.

mod communicator;
mod config;
mod error;
mod family;
mod group;
mod id;
mod init;
mod left;
mod life;
mod options;
mod properties;
mod readiness;
mod shared;
mod slot;
mod split;
mod turn;
mod waiting;

pub use communicator::NcclCommunicator;
pub use group::{Group, group};
pub use id::NcclId;
pub use options::{CtaPolicy, NcclOptions};
pub use properties::NcclProperties;
pub use split::ShrinkMode;
pub use waiting::NcclWatch;
