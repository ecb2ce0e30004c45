//! Communication for Rust on supercomputers and GPUs: MPI and NCCL found at run time, or in process.
//!
//! One binary, built with nothing but Rust, opens the MPI that the machine has: Open MPI, MPICH, Intel MPI, or any
//! library of the MPI-5 standard ABI. With no launcher and no MPI its ranks are threads of one process.
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
//! Start it with `mpiexec -n 4 program` or `srun program`, whichever the MPI of the machine, or alone with `RANKS_NP=4`.
//!
//! | what | where |
//! |---|---|
//! | start and end | [`run`](fn@run), [`Runtime`] |
//! | ranks and their groups | [`Communicator`], [`Group`] |
//! | ranks in grids and graphs | [`Cartesian`], [`Graph`], [`DistGraph`]; halos: [`HaloExchange`] |
//! | messages between two ranks | the methods of [`Communicator`] |
//! | … that return at once | [`Request`], [`Requests`], [`Scope`]; futures with the feature `async` |
//! | … of parts of arrays and structs | [`layout`] |
//! | memory that is fast to send | [`Buffer`] |
//! | values of any type, with the feature `serde` | `send_value`, `recv_value`, `bcast_value` |
//! | operations of all ranks | [`Collectives`], with the operations in [`ops`] |
//! | … that need one slice only | [`InPlaceCollectives`] |
//! | … on blocks of different lengths | [`VaryingCollectives`], with [`Blocks`]; of any form, with [`Layouts`] |
//! | … in which each rank sends to few others | [`SparseExchange`] |
//! | … in two steps: nodes and their leaders, rows and columns | [`Hierarchy`], [`TwoLevelAlltoall`] |
//! | … that return at once | [`NonblockingCollectives`]; on borrowed slices [`ScopedCollectives`] |
//! | … with the same bits for any number of ranks | [`Reproducible`] |
//! | … that are prepared once | [`PersistentCollectives`], [`PersistentVaryingCollectives`], with [`Persistent`] and [`Active`] |
//! | … between two groups | [`IntercommunicatorCollectives`], with [`RootGroup`] |
//! | … among the neighbours in a grid or a graph | [`NeighborCollectives`], [`NonblockingNeighborCollectives`], [`PersistentNeighborCollectives`] |
//! | memory that other ranks put to and get from, in epochs | [`Window`] in its states, such as [`Fenced`] and [`PassiveWindow`] |
//! | memory of a node that its ranks load and store directly | [`SharedWindow`], in the phases of [`phase`] |
//! | arrays of which each node has one copy | [`NodeShared`], many in one piece of memory: [`NodeArena`] |
//! | whether nodes have the memory that is to be shared | [`preflight`] |
//! | operations of GPUs, on streams | [`nccl`], with the streams and the memory of [`cuda`] |
//! | memory that all GPUs put to and get from: a symmetric heap, over NVSHMEM or in process | [`nvshmem`] |
//! | … started over | any [`Bootstrap`]: a [`Communicator`], threads, a TCP store |
//! | operations on addresses, with types known at run time, on any of these | [`raw`] |
//! | communicators, datatypes and requests of code in C or Python, and ours for it | [`interop`] |
//! | where the ranks run: machines, CPUs, memories, GPUs; binding; what a batch system gave, and whether it asks to stop | [`Topologies`], with [`topology`](mod@topology) |
//! | what went wrong | [`Error`], [`ErrorKind`] |
#![deny(unsafe_code)]

pub use ranks_bootstrap::{Bootstrap, TcpStore, TcpStoreOptions, ThreadBootstrap};
pub use ranks_collectives::{
    Blocks, Collectives, Compensated, Exact, Fractional, Gathered, Hierarchy, InPlaceCollectives,
    Integer, IntercommunicatorCollectives, Layouts, Locate, Located, NeighborCollectives,
    NonblockingCollectives, NonblockingNeighborCollectives, Number, Op, Ordered,
    PersistentCollectives, PersistentNeighborCollectives, PersistentVaryingCollectives, Reduction,
    Reproducible, RootGroup, ScopedCollectives, SparseExchange, Topologies, TwoLevelAlltoall,
    VaryingCollectives, ops, topology,
};
pub use ranks_comm::*;
pub use ranks_cuda as cuda;
pub use ranks_nccl as nccl;
pub use ranks_nvshmem as nvshmem;
pub use ranks_raw as raw;
pub use ranks_rma_window::{
    Accumulation, Change, Fenced, HasAtomic, LockKind, Locked, LockedOperations, NoOp, NodeArena,
    NodeBackend, NodeShared, NodeSharedBuilder, Operations, PassiveWindow, Placement, Progress,
    Replace, SharedWindow, SharedWindowBuilder, Spacing, Window, phase, preflight,
};

/// What most programs use: `use ranks::prelude::*;`.
pub mod prelude {
    pub use crate::{
        Blocks, Collectives, Communicator, Error, ErrorKind, InPlaceCollectives, LockKind,
        NeighborCollectives, NodeShared, NonblockingCollectives, NonblockingNeighborCollectives,
        PersistentCollectives, PersistentNeighborCollectives, PersistentVaryingCollectives, Pod,
        ScopedCollectives, SharedWindow, Source, Tag, Topologies, VaryingCollectives, Window, ops,
        run,
    };
    pub use ranks_collectives::ops::*;
    pub use ranks_comm::Result;
}
