//! Finds MPI libraries and their launchers, tells where a process runs, starts jobs.
//!
//! * [`Environment`]: the launcher that started this process, and its rank and the number of ranks.
//! * [`Ground`]: the kind of its ranks: processes over MPI, or threads.
//! * [`Allocation`]: the resources that a batch system gave to the job: nodes, tasks, CPUs, memory, GPUs, the time that is left.
//! * [`candidates()`]: the `libmpi`s that may be opened for it, best first, each with the reason.
//! * [`check_before_init`], [`check_after_init`]: check that the library that was opened belongs to that launcher.
//! * [`Host`]: the machine: CPUs, memories, limits, GPUs.
//! * [`Installation`]: an MPI of this machine with the launcher that belongs to it.
//! * [`StopRequest`]: a batch system's request to this process to stop.
//! * [`Job`]: n ranks of a program, output told apart by rank, killed as a whole when it times out.
//!
//! Nothing here opens a library or calls MPI.

#![deny(unsafe_code)]

mod allocation;
mod ancestors;
mod candidates;
mod environment;
mod family;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod ground;
mod host;
mod installation;
mod job;
mod launcher;
mod launchers;
mod linker_script;
mod mismatch;
mod names;
mod stop;

pub use allocation::{Allocation, Binding, Component, MemoryLimit, Scheduler};
pub use ancestors::Ancestor;
pub use candidates::{ConfigError, Search, candidates};
pub use environment::{Environment, Malformed};
pub use family::Family;
pub use ground::{Ground, Undecided};
pub use host::{ControlGroups, Cpu, CpuSet, Domain, Gpu, Host, Meminfo, NumaNode, Processors};
pub use installation::{Installation, NETWORK_ATOMICS, RDMA_PER_REQUEST, has_user_set};
pub use job::{Job, JobError, Outcome, RankOutput, Running, Written, stand_in};
pub use launcher::{Launcher, Pmi};
pub use linker_script::LinkerScript;
pub use mismatch::{LoadedMpi, Mismatch, check_after_init, check_before_init};
pub use names::Preference;
pub use stop::StopRequest;
