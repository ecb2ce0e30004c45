//! Communication for Rust on supercomputers and GPUs: MPI and NCCL found at run time, or in
//! process.
//!
//! One binary, built with nothing but Rust, opens the MPI that the machine has: Open MPI, MPICH,
//! Intel MPI, or any library of the MPI-5 standard ABI. With no launcher and no MPI its ranks are
//! threads of one process.
//!
//! ```
//! use ranks::prelude::*;
//!
//! fn main() -> ranks::Result<()> {
//!     ranks::run(|world| {
//!         let mine = [world.rank() as f64; 4];
//!         let mut sum = [0.0; 4];
//!         world.allreduce(&mine, &mut sum, Sum)?;
//!         let ranks = world.size() as f64;
//!         assert_eq!(sum, [ranks * (ranks - 1.0) / 2.0; 4]);
//!         Ok(())
//!     })
//! }
//! ```
//!
//! Start it with `mpiexec -n 4 program` or `srun program`, whichever the MPI of the machine, or
//! alone with `RANKS_NP=4`.
//!
//! # Where to find what
//!
//! The names that most programs use are here at the root, and with the traits in [`prelude`].
//! Everything is in the modules:
//!
//! | module | what is there |
//! |---|---|
//! | [`runtime`] | start and end: [`run`](fn@run), [`Runtime`], threads, time limits, statistics |
//! | [`communicator`] | [`Communicator`], [`Group`], attributes, hints, communicators between two groups, and what is left of one when ranks are lost |
//! | [`virtual_topology`] | ranks in grids and graphs: [`Cartesian`], [`Graph`](virtual_topology::Graph), [`DistGraph`](virtual_topology::DistGraph); halos: [`HaloExchange`] |
//! | [`p2p`] | messages between two ranks, by the methods of [`Communicator`]; [`Request`], [`Requests`], [`Scope`], [`Persistent`]; futures with the feature `async` |
//! | [`layout`] | parts of arrays and structs as messages |
//! | [`element`] | what may be sent, and what cannot |
//! | [`interop`] | communicators, datatypes and requests of code in C or Python, and ours for it; windows for it are in [`rma::interop`] |
//! | [`collectives`] | operations of all ranks: [`Collectives`] and its forms, with the operations in [`ops`]; with the feature `topology`: where the ranks run |
//! | [`rma`] | memory that other ranks put to and get from, in epochs: [`Window`]; memory of a node: [`SharedWindow`], [`NodeShared`] |
//! | [`bootstrap`] | what NCCL and NVSHMEM are started over: a [`Communicator`], threads, a TCP store |
//! | [`raw`] | operations on addresses, with types known at run time |
//! | [`cuda`] | contexts, streams, events and memory of GPUs |
//! | [`nccl`] | operations of GPUs, on streams |
//! | [`nvshmem`] | memory that all GPUs put to and get from: a symmetric heap, over NVSHMEM or in process |
//!
//! The last seven are crates of their own, and so are the others together (`ranks-comm`). Examples
//! are those of a program that depends on `ranks` alone; in one that depends on
//! `ranks-collectives`, `use ranks::collectives::Collectives` is
//! `use ranks_collectives::Collectives`.
//!
//! Settings of a program are those of [`Runtime::builder`]; users have environment variables: the
//! MPI, time limits, checks, statistics, dumps.
//!
//! # Features
//!
//! | feature | what it brings |
//! |---|---|
//! | `collectives`, `rma` | the modules of these names; on by default |
//! | `gpu` | `cuda`, `nccl` and `nvshmem`, each also by itself |
//! | `raw`, `bootstrap` | the modules of these names; `nccl` and `nvshmem` bring them too |
//! | `async` | requests as futures |
//! | `serde` | values of any type that serde can serialise: `send_value`, `recv_value`, `bcast_value` |
//! | `topology` | machines, CPUs, memories and GPUs, and which ranks are where: [`Topologies`] |
//! | `half`, `num-complex` | reductions of the numbers of these crates |
//! | `cudarc` | streams and slices of cudarc 0.19 as streams and memory of ours |
//! | `tracing` | a span for each operation |
//!
//! # Errors
//!
//! Every operation returns a [`Result`]. An [`Error`] names the C call, the library, ranks and
//! sizes, and what to change; programs decide by its [`kind`](Error::kind). One that leaves the
//! closure of [`run`](fn@run) ends the job on all ranks. Collective calls that differ among ranks
//! are the same error on all of them where they are compared, as builds with debug assertions do
//! ([`Checks`]). With a time limit a wait for a rank that does not come is an error too.
//!
//! # What it does not do
//!
//! Files, processes that are started later, sessions and the tool interface of MPI have no safe
//! form: `ranks-mpi-sys` has the C functions. Nothing is linked, so that a static program, which
//! can open no library, has its ranks in process alone.
#![cfg_attr(doc, doc = concat!(
    "\n# The guide\n\n[From the first program to windows and GPUs](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/SUMMARY.md), ",
    "[environment variables](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/environment.md).",
))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
// Without them their modules are not there to link to.
#![cfg_attr(
    not(all(feature = "rma", feature = "gpu")),
    allow(rustdoc::broken_intra_doc_links)
)]

#[doc(inline)]
#[cfg(feature = "bootstrap")]
pub use ranks_bootstrap as bootstrap;
#[doc(inline)]
#[cfg(feature = "collectives")]
pub use ranks_collectives as collectives;
#[cfg(feature = "collectives")]
pub use ranks_collectives::{
    Collectives, Hierarchy, NonblockingCollectives, Number, ScopedCollectives, VaryingCollectives,
    ops,
};
#[cfg(feature = "topology")]
pub use ranks_collectives::{Topologies, topology};
pub use ranks_comm::{
    Backend, Buffer, Cartesian, Checks, Communicator, Destination, Error, ErrorKind, Group,
    HaloExchange, Layout, Persistent, Request, Requests, Result, Runtime, Scope, Source, Status,
    Tag, ThreadLevel, interop, layout, run,
};
#[doc(inline)]
#[cfg(feature = "cuda")]
pub use ranks_cuda as cuda;
#[doc(inline)]
#[cfg(feature = "nccl")]
pub use ranks_nccl as nccl;
#[doc(inline)]
#[cfg(feature = "nvshmem")]
pub use ranks_nvshmem as nvshmem;
#[doc(inline)]
#[cfg(feature = "raw")]
pub use ranks_raw as raw;
#[doc(inline)]
#[cfg(feature = "rma")]
pub use ranks_rma_window as rma;
#[cfg(feature = "rma")]
pub use ranks_rma_window::{
    Fenced, LockKind, Locked, NodeShared, PassiveWindow, SharedWindow, Window, phase, preflight,
};

pub use bytemuck;
pub use element::{Pack, Pod, Zeroable};
pub use ranks_macros::main;

/// Start and end of a program's ranks, and what holds for all that they do.
pub mod runtime {
    #[cfg(feature = "tracing")]
    pub use ranks_comm::look_for_subscriber;
    pub use ranks_comm::{
        Backend, Builder, Checks, Facts, OnTimeLimit, OperationStatistics, Runtime, Statistics,
        StopRequest, ThreadLevel, run,
    };
}

/// Ranks that communicate: communicators, groups, attributes and hints, two groups, and what is
/// left when ranks are lost.
pub mod communicator {
    pub use ranks_comm::{
        Agreed, AttributeKey, Communicator, Comparison, Group, Info, Intercommunicator,
        IntercommunicatorScope, Shrunk, SplitType,
    };
}

/// Ranks in grids and graphs, whose neighbours exchange data.
pub mod virtual_topology {
    pub use ranks_comm::{
        Cartesian, DistGraph, Graph, HaloExchange, Neighborhood, VirtualTopology, balanced_dims,
    };
}

/// Messages between two ranks: what the methods of [`Communicator`] take and return.
pub mod p2p {
    #[cfg(feature = "async")]
    pub use ranks_comm::RequestFuture;
    pub use ranks_comm::{
        Active, ActiveRecv, ActiveSend, AttachedBuffer, BSEND_OVERHEAD, Borrowed, Buffer,
        Completed, Destination, Message, Outbox, PartitionWriter, PartitionedRecv, PartitionedSend,
        Pending, Persistent, RecvBuffer, Request, Requests, Scope, ScopedRequest, SendBuffer,
        Source, Status, Tag,
    };
}

/// Elements of messages: plain data, which is [`Pod`] and so [`Zeroable`]. Numbers, arrays and many
/// others are.
///
/// Both are traits of [`bytemuck`], and derives for structs. These need `ranks` alone; bytemuck's
/// own, which do the same, need bytemuck.
///
/// ```
/// #[derive(Clone, Copy, ranks::Pod, ranks::Zeroable)]
/// #[repr(C)]
/// struct Particle {
///     position: [f64; 3],
///     charge: f64,
/// }
///
/// fn everywhere(world: &ranks::Communicator, mut first: Particle) -> ranks::Result<Particle> {
///     use ranks::Collectives;
///     world.bcast(std::slice::from_mut(&mut first), 0)?;
///     Ok(first)
/// }
/// ```
///
/// `bool`, `char`, enums, references and structs with padding are refused by the compiler. All but
/// references are sent [packed](Pack). What is sent as one type should be received as the same: see
/// the module `element` of `ranks-comm`.
#[doc(alias = "MPI_BYTE")]
#[doc(alias = "MPI_CHAR")]
#[doc(alias = "MPI_SIGNED_CHAR")]
#[doc(alias = "MPI_UNSIGNED_CHAR")]
#[doc(alias = "MPI_SHORT")]
#[doc(alias = "MPI_UNSIGNED_SHORT")]
#[doc(alias = "MPI_INT")]
#[doc(alias = "MPI_UNSIGNED")]
#[doc(alias = "MPI_LONG")]
#[doc(alias = "MPI_UNSIGNED_LONG")]
#[doc(alias = "MPI_LONG_LONG")]
#[doc(alias = "MPI_UNSIGNED_LONG_LONG")]
#[doc(alias = "MPI_FLOAT")]
#[doc(alias = "MPI_DOUBLE")]
#[doc(alias = "MPI_INT8_T")]
#[doc(alias = "MPI_INT16_T")]
#[doc(alias = "MPI_INT32_T")]
#[doc(alias = "MPI_INT64_T")]
#[doc(alias = "MPI_UINT8_T")]
#[doc(alias = "MPI_UINT16_T")]
#[doc(alias = "MPI_UINT32_T")]
#[doc(alias = "MPI_UINT64_T")]
pub mod element {
    pub use ranks_comm::element::*;
    pub use ranks_macros::{Pack, Pod, Zeroable};
}

/// The names that most programs use: `use ranks::prelude::*;`.
pub mod prelude {
    pub use crate::element::{Pod, Zeroable};
    #[cfg(feature = "topology")]
    pub use ranks_collectives::Topologies;
    #[cfg(feature = "collectives")]
    pub use ranks_collectives::ops::*;
    #[cfg(feature = "collectives")]
    pub use ranks_collectives::{
        Blocks, Collectives, InPlaceCollectives, NeighborCollectives, NonblockingCollectives,
        NonblockingInPlaceCollectives, NonblockingNeighborCollectives, PersistentCollectives,
        PersistentInPlaceCollectives, PersistentNeighborCollectives, PersistentVaryingCollectives,
        ScopedCollectives, ScopedInPlaceCollectives, ScopedNeighborCollectives, VaryingCollectives,
        ops,
    };
    pub use ranks_comm::{
        Communicator, Error, ErrorKind, HaloExchange, Layout, Result, Runtime, Source, Tag,
        ThreadLevel, run,
    };
    #[cfg(feature = "rma")]
    pub use ranks_rma_window::{LockKind, NodeShared, SharedWindow, Window};
}
