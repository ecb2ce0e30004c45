//! One-sided communication on hosts, over MPI or in process: a rank reads and writes memory of
//! another one, which does not call anything at the time.
//!
//! Programs depend on `ranks`, of which this crate is the module `rma`.
//!
//! ```
//! use ranks::rma::Window;
//!
//! fn main() -> ranks::Result<()> {
//!     ranks::run(|world| {
//!         let next = (world.rank() + 1) % world.size();
//!         let mine = [world.rank()];
//!         let mut fenced = Window::<usize>::allocate(&world, 1)?.fence()?;
//!         fenced.step(|ops| ops.put(&mine, next, 0))?;
//!         let window = fenced.close()?;
//!         assert_eq!((window.local()[0] + 1) % world.size(), world.rank());
//!         window.free()?;
//!         Ok(())
//!     })
//! }
//! ```
//!
//! | what | for | MPI 5.0 |
//! |---|---|---|
//! | [`Window`] | memory of each rank that the others put to, get from and accumulate into, within epochs | §12.2, §12.3 |
//! | … between fences: [`Fenced`] | all ranks, in steps | §12.5.1 |
//! | … posted and started: [`Exposed`] | ranks that deal with each other | §12.5.2 |
//! | … under locks: [`PassiveWindow`], [`Locked`] | one rank alone, or all of them at once | §12.5.3 |
//! | [`DynamicWindow`] | the same for vectors that are attached and detached while the window lives | §12.2.4 |
//! | [`SharedWindow`] | memory of the ranks of a node that all of them load and store directly, in phases | §12.2.3 |
//! | [`NodeShared`], [`NodeArena`] | an array of which each node has one copy, read by all of its ranks; many of them in one region | |
//! | [`preflight`] | whether every node has the memory, before any rank takes it | |
//!
//! # Epochs are types
//!
//! A slice of a window's elements exists only while nobody else may write there, and operations
//! only within an epoch: anything else does not compile. Ranks, places and lengths are checked at
//! each call, and are an `Err` of kind [`Argument`](ranks_comm::ErrorKind::Argument),
//! [`Length`](ranks_comm::ErrorKind::Length) or [`Rank`](ranks_comm::ErrorKind::Rank) before the
//! library is called. Memory that a node does not have is the same `Err` on all ranks.
//!
//! # Settings
//!
//! There are no features. The settings are those of the runtime, and environment variables:
//! `RANKS_TIMEOUT` ends waits for ranks that do not come.
//!
//! # What it does not do
//!
//! Memory of GPUs is that of `ranks-nvshmem` and `ranks-nccl`. A window is never memory of which
//! somebody else has a reference: it allocates its own, or takes a `Vec`. Attributes and error
//! handlers of windows are not there.
#![cfg_attr(doc, doc = concat!(
    "\n# The guide\n\n[Windows](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/windows.md), ",
    "[environment variables](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/environment.md).",
))]
#![deny(unsafe_code)]

mod epoch;
mod in_process;
pub mod interop;
mod mpi;
mod node_shared;
mod page;
pub mod preflight;
mod region;
mod shared_window;
mod window;

pub use epoch::accumulation::{Accumulation, Change, NoOp, Replace};
pub use epoch::lock_kind::LockKind;
pub use node_shared::arena::NodeArena;
pub use node_shared::{NodeBackend, NodeShared, NodeSharedBuilder, Progress};
pub use shared_window::passive::{LockedAll, LockedExclusive, LockedShared};
pub use shared_window::{HasAtomic, Placement, SharedWindow, SharedWindowBuilder, Spacing, phase};
pub use window::Window;
pub use window::dynamic::{
    Access, Attached, DynamicLocked, DynamicOperations, DynamicWindow, FencedDynamicWindow,
    PassiveDynamicWindow,
};
pub use window::exposure::Exposed;
pub use window::fence::Fenced;
pub use window::locked::Locked;
pub use window::locked_operations::LockedOperations;
pub use window::operations::Operations;
pub use window::passive::PassiveWindow;
pub use window::requests::EpochRequest;

/// Tests count what tables take.
#[cfg(test)]
#[global_allocator]
static COUNTING: ranks_scale::Counting = ranks_scale::Counting;
