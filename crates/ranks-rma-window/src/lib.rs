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

mod access;
mod accumulation;
mod dealings;
mod dynamic;
mod epochs;
mod exposure;
mod fence;
mod in_process;
mod inner;
mod layouts;
mod locked;
mod mpi;
mod node_arena;
mod node_shared;
mod operations;
mod passive;
pub mod preflight;
mod region;
mod requests;
mod shared_window;
mod table;
mod window;

pub use accumulation::{Accumulation, Change, NoOp, Replace};
pub use dynamic::{
    Access, Attached, DynamicLocked, DynamicOperations, DynamicWindow, FencedDynamicWindow,
    PassiveDynamicWindow,
};
pub use exposure::Exposed;
pub use fence::Fenced;
pub use locked::{Locked, LockedOperations};
pub use node_arena::NodeArena;
pub use node_shared::{NodeBackend, NodeShared, NodeSharedBuilder, Progress};
pub use operations::Operations;
pub use passive::{LockKind, PassiveWindow};
pub use requests::EpochRequest;
pub use shared_window::{HasAtomic, Placement, SharedWindow, SharedWindowBuilder, Spacing, phase};
pub use window::Window;
