//! The trait over addresses, on a team.
//!
//! # Safety
//!
//! * What belongs to the heap (the team, the staging memory) is touched on the thread of the heap
//!   alone: each call looks first, and what is dropped on another thread is left alone.
//! * The memory of the caller is touched while a call of it is under way, by copies that wait for
//!   nobody; what other PEs work on is staging memory of the heap.
#![allow(unsafe_code)]

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use ranks_comm::{Error, ErrorKind, Result};
use ranks_raw::RawCollectives as _;

use crate::heap::symmetric_vec::SymmetricVec;
use crate::pe::handle::Nvshmem;
use crate::team::{Team, TeamRef};

mod collectives;
mod computed;
mod staging;

const NEW: &str = "RawNvshmem::new";

/// A heap behind [`RawCollectives`](ranks_raw::RawCollectives): its operations over addresses, on a
/// team.
///
/// NVSHMEM works on memory of the heap, at the same place on all PEs, and frameworks have
/// addresses. So what is sent is copied to the heap, and what comes is copied from there; all is
/// over when an operation returns, and [`sync`](ranks_raw::RawCollectives::sync) has nothing to
/// wait for. Memory may be that of the host, and of the PE's GPU.
///
/// NVSHMEM has no messages: [`send`](ranks_raw::RawCollectives::send) and
/// [`recv`](ranks_raw::RawCollectives::recv) are [`NotInLibrary`](ErrorKind::NotInLibrary). What
/// goes to one root, or comes from one, is done with all.
/// [`split`](ranks_raw::RawCollectives::split) needs NVSHMEM 3.3. An
/// [`abort`](ranks_raw::RawCollectives::abort) is seen by calls that begin after it.
///
/// It may be sent to other threads and is used on that of the heap: elsewhere it is
/// [`WrongThread`](ErrorKind::WrongThread), and if it is dropped there, what it has of the heap
/// stays.
pub struct RawNvshmem {
    home: Arc<Home>,
    /// Dropped on the heap's thread alone.
    team: ManuallyDrop<Member>,
    rank: usize,
    size: usize,
    failed: Mutex<Option<String>>,
}

/// The state that a heap's teams share.
struct Home {
    heap: &'static Nvshmem<'static>,
    thread: ThreadId,
    name: String,
    in_process: bool,
    /// The first half is sent from, the other received into. Dropped on the heap's thread alone.
    staging: ManuallyDrop<SymmetricVec<'static, u8>>,
    half: usize,
}

enum Member {
    World(TeamRef<'static>),
    Part(Team<'static>),
}

// SAFETY: what is not of any thread (the heap, the team, the staging memory) is touched after
// `begin` has seen that this is the heap's own, and dropped there or not at all.
unsafe impl Send for RawNvshmem {}
// SAFETY: as above.
unsafe impl Sync for RawNvshmem {}
// SAFETY: as above.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

impl RawNvshmem {
    /// All PEs of a heap, with so many bytes of staging memory. Collective.
    ///
    /// Larger operations are done in parts.
    ///
    /// # Errors
    /// [`Length`](ErrorKind::Length) for less than 64 bytes for each PE; else as
    /// [`Nvshmem::alloc`].
    pub fn new(heap: &'static Nvshmem<'static>, staging: usize) -> Result<Self> {
        let (rank, size) = (heap.my_pe(), heap.n_pes());
        let half = staging / 2 / 64 * 64;
        if half < size.saturating_mul(32) {
            let text = format_args!("{staging} bytes are too few for {size} PEs");
            return Err(Error::new(ErrorKind::Length, NEW, text));
        }
        let home = Home {
            heap,
            thread: thread::current().id(),
            name: heap.backend_name(),
            in_process: heap.context().is_none(),
            staging: ManuallyDrop::new(heap.alloc(2 * half)?),
            half,
        };
        Ok(Self {
            home: Arc::new(home),
            team: ManuallyDrop::new(Member::World(heap.world())),
            rank,
            size,
            failed: Mutex::new(None),
        })
    }

    /// The heap and the team.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`]; [`ErrorKind::Aborted`] after a failure.
    fn begin(&self, name: &'static str) -> Result<(&'static Nvshmem<'static>, &Team<'static>)> {
        if thread::current().id() != self.home.thread {
            let text = "a heap is used by the thread that has initialised it, and by no other";
            return Err(Error::new(ErrorKind::WrongThread, name, text));
        }
        if let Some(why) = self.failure() {
            let text = format_args!("it cannot be used any more: {why}");
            return Err(Error::new(ErrorKind::Aborted, name, text));
        }
        let team = match &*self.team {
            Member::World(world) => world,
            Member::Part(part) => part,
        };
        Ok((self.home.heap, team))
    }

    /// From now on nothing is begun.
    fn fail(&self, why: &str) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert_with(|| why.to_owned());
    }
}

impl Drop for RawNvshmem {
    fn drop(&mut self) {
        if thread::current().id() == self.home.thread {
            // SAFETY: nobody uses it after this, and this is the thread that may.
            unsafe { ManuallyDrop::drop(&mut self.team) };
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if thread::current().id() == self.thread {
            // SAFETY: as for the team.
            unsafe { ManuallyDrop::drop(&mut self.staging) };
        }
    }
}

impl fmt::Debug for RawNvshmem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawNvshmem")
            .field("rank", &self.rank)
            .field("size", &self.size)
            .field("backend", &self.home.name)
            .finish_non_exhaustive()
    }
}
