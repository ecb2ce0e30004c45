//! Finds MPI libraries and their launchers, tells where a process runs, starts jobs.
//!
//! * [`Environment`]: which launcher started this process, as which rank of how many.
//! * [`candidates()`]: which `libmpi`s may be opened for it, best first, each with the reason.
//! * [`check_before_init`], [`check_after_init`]: does the library that was opened belong to that launcher?
//! * [`Installation`]: an MPI of this machine with the launcher that belongs to it.
//! * [`Job`]: n ranks of a program, output told apart by rank, killed as a whole when time is up.
//!
//! Nothing here opens a library or calls MPI.

#![deny(unsafe_code)]

mod ancestors;
mod candidates;
mod environment;
mod family;
mod installation;
mod job;
mod launcher;
mod launchers;
mod mismatch;
mod names;

pub use ancestors::Ancestor;
pub use candidates::{ConfigError, Search, candidates};
pub use environment::{Environment, Malformed};
pub use family::Family;
pub use installation::Installation;
pub use job::{Job, JobError, Outcome, RankOutput, Running};
pub use launcher::{Launcher, Pmi};
pub use mismatch::{LoadedMpi, Mismatch, check_after_init, check_before_init};
pub use names::Preference;
