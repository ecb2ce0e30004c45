//! Finds MPI libraries and their launchers, tells where a process runs, starts jobs.
//!
//! * [`Environment`]: the launcher that started this process, and its rank and the number of ranks.
//! * [`Ground`]: the kind of its ranks: processes over MPI, or threads.
//! * [`Allocation`]: the resources that a batch system gave to the job: nodes, tasks, CPUs, memory,
//!   GPUs, the time that is left.
//! * [`candidates()`]: the `libmpi`s that may be opened for it, best first, each with the reason.
//! * [`check_before_init`], [`check_after_init`]: check that the library that was opened belongs to
//!   that launcher.
//! * [`ControlGroups`], [`Meminfo`]: memory and CPU time, and their limits.
//! * `Host` (feature `hosts`): the machine: CPUs, memories, limits, GPUs.
//! * [`Installation`]: an MPI of this machine with the launcher that belongs to it, and (feature
//!   `jobs`) the commands by which that starts ranks.
//! * [`StopRequest`]: a batch system's request to this process to stop.
//! * `Job` (feature `jobs`): n ranks of a program, output told apart by rank, killed as a whole
//!   when it times out.
//!
//! Nothing here opens a library or calls MPI.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

mod allocation;
mod count;
mod duration;
mod environment;
mod family;
#[cfg(all(fuzzing, feature = "hosts", feature = "jobs"))]
#[doc(hidden)]
pub mod fuzzing;
mod ground;
#[cfg(feature = "jobs")]
mod job;
mod library;
mod machine;
mod mismatch;
mod variables;

pub use allocation::{Allocation, Binding, Component, MemoryLimit, Scheduler, StopRequest};
#[doc(hidden)]
pub use count::Count;
#[doc(hidden)]
pub use duration::{any_duration, duration};
pub use environment::{Ancestor, Environment, Launcher, Malformed, Pmi};
pub use family::Family;
pub use ground::{Ground, Undecided};
#[cfg(feature = "jobs")]
pub use job::{Job, JobError, Outcome, RankOutput, Running, Starter, Written, stand_in};
pub use library::{
    ConfigError, Installation, LinkerScript, NETWORK_ATOMICS, Preference, RDMA_PER_REQUEST, Search,
    WITHOUT_RDMA, candidates, has_user_set,
};
pub use machine::{ControlGroups, Meminfo};
#[cfg(feature = "hosts")]
pub use machine::{Cpu, CpuSet, Domain, Gpu, Host, NumaNode, Processors};
pub use mismatch::{LoadedMpi, Mismatch, check_after_init, check_before_init};
pub use variables::{UnknownVariable, VARIABLES};
