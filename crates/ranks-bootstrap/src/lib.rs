//! A small exchange of bytes among ranks, over which libraries are started that have ranks of their
//! own.
//!
//! NCCL and NVSHMEM need an id that one rank makes and all have. What carries it is a
//! [`Bootstrap`]: a [`Communicator`](ranks_comm::Communicator), threads of one process, or a store
//! at an address. One of your own is three methods.
//!
//! ```
//! use std::time::Duration;
//!
//! use ranks::bootstrap::{Bootstrap, ThreadBootstrap};
//!
//! fn names(ranks: &impl Bootstrap, mine: &str) -> ranks::Result<Vec<Vec<u8>>> {
//!     ranks.exchange(mine.as_bytes())
//! }
//!
//! std::thread::scope(|threads| {
//!     for rank in ThreadBootstrap::of(2, Duration::from_secs(10)).unwrap() {
//!         threads.spawn(move || {
//!             let mine = format!("rank {}", rank.rank());
//!             let all = names(&rank, &mine).expect("both threads come");
//!             assert_eq!(all, [b"rank 0", b"rank 1"]);
//!         });
//!     }
//! });
//! ```
#![deny(unsafe_code)]

use ranks_comm::Result;

#[doc(hidden)]
pub mod backend;
mod communicator;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod readiness;
mod tcp_store;
mod threads;

pub use tcp_store::{TcpStore, TcpStoreOptions};
pub use threads::ThreadBootstrap;

/// A few ranks that can tell each other something, however slowly: what NCCL and NVSHMEM are
/// started over.
///
/// | ranks | |
/// |---|---|
/// | of a job of MPI, or in process | a [`Communicator`](ranks_comm::Communicator) |
/// | that are threads of one process | [`ThreadBootstrap`] |
/// | that are processes and know an address, as torchrun tells it | [`TcpStore`] |
///
/// The bytes may be a secret, as the id of an NCCL communicator is: they are in no error and no
/// log.
pub trait Bootstrap {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Gives every rank what all of them pass, in the order of ranks. Collective; contributions may
    /// be of different lengths.
    ///
    /// # Errors
    /// Errors of the transport, of the same kind on all ranks that still can be told;
    /// [`TimedOut`](ranks_comm::ErrorKind::TimedOut) if a rank does not come and the transport has
    /// a time limit.
    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>>;
}

/// Tests count what tables take.
#[cfg(test)]
#[global_allocator]
static COUNTING: ranks_scale::Counting = ranks_scale::Counting;
