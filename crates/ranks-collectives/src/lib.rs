//! Collective communication over MPI or in process: every rank of a communicator takes part.
//!
//! Bring [`Collectives`] into scope and call its methods on a
//! [`Communicator`](ranks_comm::Communicator). Slices go in and out, lengths are `usize` and count
//! elements, and what a rank can see to be wrong is an `Err` before anything is sent.
//!
//! ```
//! use ranks::collectives::{Collectives, ops::Sum};
//!
//! fn share_of(world: &ranks::Communicator, mine: u64) -> ranks::Result<f64> {
//!     let mut total = [0];
//!     world.allreduce(&[mine], &mut total, Sum)?;
//!     Ok(mine as f64 / total[0] as f64)
//! }
//! ```
//!
//! # The families
//!
//! | operations | here | MPI 5.0 |
//! |---|---|---|
//! | on slices, blocks of one length | [`Collectives`] | §6.3 to §6.11 |
//! | … in one slice | [`InPlaceCollectives`], and the methods `…_in_place` of [`VaryingCollectives`] | §6.2.3 |
//! | … in one slice, that return at once, or are prepared once | [`NonblockingInPlaceCollectives`], [`ScopedInPlaceCollectives`], [`PersistentInPlaceCollectives`] | §6.12, §6.13 |
//! | … of different lengths | [`VaryingCollectives`], with [`Blocks`] | §6.5 to §6.8, §6.10.2 |
//! | … of any form | [`alltoallw`](VaryingCollectives::alltoallw), [`neighbor_alltoallw`](NeighborCollectives::neighbor_alltoallw), with [`Layouts`] | §6.8, §8.6.2 |
//! | … values that are no plain data: `bool`, enums, padded structs | [`bcast_packed`](Collectives::bcast_packed) and its kin | §6.4 to §6.8 |
//! | … any value that serde takes (feature `serde`) | `Collectives::bcast_value` | |
//! | that return at once and own their buffers | [`NonblockingCollectives`] | §6.12 |
//! | that return at once and borrow | [`ScopedCollectives`] | §6.12 |
//! | that are prepared once and started again and again | [`PersistentCollectives`], [`PersistentVaryingCollectives`] | §6.13 |
//! | among the neighbours in a grid or a graph | [`NeighborCollectives`] | §8.6 |
//! | … that return at once | [`NonblockingNeighborCollectives`] | §8.7 |
//! | … nonblocking, on borrowed slices | [`ScopedNeighborCollectives`] | §8.7 |
//! | … that are prepared once | [`PersistentNeighborCollectives`] | §8.8 |
//! | between two groups | [`IntercommunicatorCollectives`] | §6.2.3 |
//! | reductions with the same bits for any number of ranks | [`Collectives::reproducible`] | |
//! | to few others, who expect nothing | [`SparseExchange`] | |
//! | within nodes and then among them | [`Hierarchy`], [`TwoLevelAlltoall`] | |
//!
//! Operations of reductions are in [`ops`]: MPI's operations, averages, and functions of your own
//! (§6.9).
//!
//! # Memory
//!
//! Results go to memory of the caller's. What returns a [`Gathered`] or a `Vec` makes it anew;
//! methods `…_again` receive into an earlier one.
//!
//! # Calls that differ among ranks
//!
//! All ranks must call the same collectives in the same order, with roots, types and lengths that
//! fit. In builds with debug assertions, or where
//! [`Checks::Collective`](ranks_comm::Checks::Collective) is asked for, the ranks of a communicator
//! compare that before each blocking collective and before one is prepared, and if it is not so all
//! of them get the same error ([`ErrorKind::Mismatch`](ranks_comm::ErrorKind::Mismatch)). Nothing
//! is compared before operations that return at once, which would wait for it, nor between two
//! groups.
//!
//! # Settings
//!
//! The settings are those of the runtime, and environment variables: `RANKS_CHECK` has calls
//! compared, `RANKS_TIMEOUT` ends waits.
//!
//! | feature | what it brings |
//! |---|---|
//! | `half`, `num-complex` | reductions of the numbers of these crates |
//! | `serde` | values of any type that serde can serialise, broadcast |
//! | `topology` | machines, CPUs, memories and GPUs, and which ranks are where |
//!
//! # What it does not do
//!
//! Nothing here chooses [`Hierarchy`] or [`TwoLevelAlltoall`] by itself. Bits of a sum depend on
//! the library and on the number of ranks, but for [`Collectives::reproducible`].
#![cfg_attr(doc, doc = concat!(
    "\n# The guide\n\n[Collective communication](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/collectives.md), ",
    "[environment variables](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/environment.md).",
))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

mod agreement;
mod arguments;
#[doc(hidden)]
pub mod backend;
mod composed;
mod in_flight;
mod in_process;
mod mpi;
mod operation;
pub mod ops;
mod reproducible;
#[cfg(feature = "topology")]
pub mod topology;
mod traits;

pub use arguments::blocks::Blocks;
pub use arguments::crossing::RootGroup;
pub use arguments::layouts::Layouts;
pub use composed::hierarchy::Hierarchy;
pub use composed::sparse_exchange::SparseExchange;
pub use composed::two_level_alltoall::TwoLevelAlltoall;
pub use operation::varying::gathered::Gathered;
pub use ops::fractional::Fractional;
pub use ops::located::{Locate, Located};
pub use ops::number::{Integer, Number, Ordered};
pub use ops::{Op, Reduction};
pub use reproducible::{Compensated, Exact, Reproducible};
#[cfg(feature = "topology")]
pub use topology::Topologies;
#[cfg(all(fuzzing, feature = "topology"))]
#[doc(hidden)]
pub use topology::fuzzing;
pub use traits::collectives::Collectives;
pub use traits::in_place_collectives::InPlaceCollectives;
pub use traits::in_place_forms::{
    NonblockingInPlaceCollectives, PersistentInPlaceCollectives, ScopedInPlaceCollectives,
};
pub use traits::intercommunicators::IntercommunicatorCollectives;
pub use traits::neighbor_collectives::NeighborCollectives;
pub use traits::neighbor_forms::{
    NonblockingNeighborCollectives, PersistentNeighborCollectives, ScopedNeighborCollectives,
};
pub use traits::nonblocking_collectives::NonblockingCollectives;
pub use traits::persistent_collectives::{PersistentCollectives, PersistentVaryingCollectives};
pub use traits::scoped_collectives::ScopedCollectives;
pub use traits::varying_collectives::VaryingCollectives;

/// Tests count what tables take.
#[cfg(test)]
#[global_allocator]
static COUNTING: ranks_scale::Counting = ranks_scale::Counting;
