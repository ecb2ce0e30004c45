//! One-sided communication on hosts, over MPI or in process: a rank reads and writes memory of
//! another one, which does not call anything at the time.
//!
//! | what | for |
//! |---|---|
//! | [`Window`] | memory of each rank that the others put to, get from and accumulate into, within epochs |
//! | [`DynamicWindow`] | the same for vectors that are attached and detached while the window lives |
//! | [`SharedWindow`] | memory of the ranks of a node that all of them load and store directly, in phases |
//! | [`NodeShared`] | an array of which each node has one copy, read by all of its ranks |
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
