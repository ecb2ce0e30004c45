//! Calls as observers see them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A rank of the world: a process is one over MPI, an in-process world has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Home {
    /// The number of the in-process world in this process; 0 for a process that is one rank.
    pub world: u64,
    /// The rank there; 0 for a process that is one rank.
    pub rank: usize,
}

impl Home {
    /// The rank of this process over MPI.
    pub const PROCESS: Self = Self { world: 0, rank: 0 };

    /// The home of a rank of that world.
    #[must_use]
    pub fn of(world: u64, rank: usize) -> Self {
        if world == Self::PROCESS.world {
            Self::PROCESS
        } else {
            Self { world, rank }
        }
    }
}

/// A communicator, a symmetric heap, or whatever else ranks make calls on together.
#[derive(Debug, Clone, Copy)]
pub struct Comm<'a> {
    /// The rank that it belongs to.
    pub home: Home,
    /// The library that carries it: `mpi`, `in process`, `nccl`, `nvshmem`.
    pub backend: &'static str,
    /// Different for each communicator; equal on all its ranks where they can know.
    pub id: u64,
    /// This rank in it.
    pub rank: usize,
    /// The number of its ranks.
    pub size: usize,
    /// Its ranks in the world; empty if they are not known.
    pub world_ranks: &'a [usize],
    /// Its name; empty if it has none.
    pub name: &'a Mutex<String>,
}

impl Comm<'_> {
    /// The label: its name, or its number of ranks.
    pub(crate) fn label(&self) -> String {
        let name = self.name.lock().unwrap_or_else(PoisonError::into_inner);
        if name.is_empty() {
            format!("unnamed, of {}", self.size)
        } else {
            name.clone()
        }
    }
}

/// The arguments of a call that are reported.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    /// The C name.
    pub operation: &'static str,
    /// The type of the elements.
    pub element: Option<&'static str>,
    /// The type of the reduction.
    pub reduction: Option<&'static str>,
    /// The destination or the source of a message.
    pub peer: Option<usize>,
    /// The destination of a message, if another one comes from `peer`.
    pub dest: Option<usize>,
    /// The root of a collective.
    pub root: Option<usize>,
    /// The tag of a message.
    pub tag: Option<i32>,
    /// The tag of the message to `dest`.
    pub dest_tag: Option<i32>,
    /// `true` if the message may come from any rank or under any tag.
    pub wildcard: bool,
    /// The number of elements.
    pub count: u64,
    /// Their size in bytes, all together.
    pub bytes: u64,
}

impl From<&'static str> for Facts {
    fn from(operation: &'static str) -> Self {
        Self {
            operation,
            ..Self::default()
        }
    }
}

/// A call that a thread is in, or was in.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The communicator.
    pub comm: Comm<'a>,
    /// The arguments.
    pub facts: Facts,
    /// The number of collectives, or other calls, on this communicator before it, if it is known.
    pub number: Option<u64>,
    /// The thread, as [`this_thread`] numbers it.
    pub thread: u64,
    /// The time at which it was begun.
    pub started: Instant,
}

/// A number for this thread that no other thread of the process ever has; never 0.
#[inline]
#[must_use]
pub fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static ME: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    ME.with(|me| *me)
}
