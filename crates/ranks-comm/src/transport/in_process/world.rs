//! The ranks of one in-process run.
//!
//! Each has a mailbox, by which it is woken as well: `messages.rs` has the messages, `waiting.rs`
//! the waits for them, `failures.rs` the failures that end these waits.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use super::agreements::Agreements;
use super::common::Commons;
use super::inbox::Inbox;
use super::mailbox::Queues;
use super::patience::Patience;
use crate::call::hold::Hold;
use crate::call::inflight_calls::Threads;
use crate::call::limit::Limit;
use crate::call::unreceived;

/// The context of the world communicator's messages; collectives use the odd number that follows an
/// even one.
pub(crate) const WORLD_CONTEXT: u64 = 0;

/// The name of that communicator.
const WORLD_NAME: &str = "MPI_COMM_WORLD";

/// All ranks of a run.
pub(crate) struct World {
    /// A number that is unique in this process, and not 0.
    pub(crate) number: u64,
    /// The time of its start, for all of its ranks.
    pub(crate) job: u64,
    /// All of them, in order.
    pub(crate) ranks: Arc<[usize]>,
    pub(crate) mailboxes: Box<[Mailbox]>,
    next_context: AtomicU64,
    pub(crate) agreements: Agreements,
    /// In the order of their arrival.
    pub(crate) failures: Mutex<Vec<Failure>>,
    /// The number of failures.
    pub(crate) failed: AtomicUsize,
    /// That of its own communicator, and those of two groups that are merged.
    pub(crate) commons: Commons,
    /// The names of communicators, by their contexts.
    pub(crate) names: Mutex<HashMap<u64, String>>,
    /// Contexts of communicators that were revoked.
    pub(crate) revoked: Mutex<HashSet<u64>>,
    pub(crate) any_revoked: AtomicBool,
    /// Looks of a wait before it sleeps.
    pub(crate) patience: Patience,
    /// The time limit of operations.
    limit: Option<(Limit, Hold)>,
}

/// A rank that failed, and the error. The first is the cause of all later ones, unless the others
/// go on without it.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) rank: usize,
    pub(crate) what: String,
}

#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    /// Locked before `inbox` by who needs both.
    pub(crate) queues: Mutex<Queues>,
    pub(crate) inbox: Mutex<Inbox>,
    /// The number of messages that have arrived; it changes while `inbox` is locked.
    pub(crate) arrivals: AtomicU64,
    pub(crate) changed: Condvar,
    /// The number of threads that sleep, or are about to.
    pub(crate) sleepers: AtomicUsize,
    pub(crate) ended: AtomicBool,
    /// The number of failures that this rank has acknowledged: only later ones end its waits.
    pub(crate) acknowledged: AtomicUsize,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("number", &self.number)
            .field("size", &self.ranks.len())
            .finish_non_exhaustive()
    }
}

impl World {
    #[cfg(test)]
    pub(crate) fn new(size: usize) -> Self {
        Self::limited(size, None)
    }

    /// A world of so many ranks, with this time limit.
    pub(crate) fn limited(size: usize, limit: Option<Limit>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            job: ranks_trace::new_job(),
            ranks: (0..size).collect(),
            mailboxes: (0..size).map(|_| Mailbox::default()).collect(),
            next_context: AtomicU64::new(WORLD_CONTEXT + 2),
            agreements: Agreements::default(),
            failures: Mutex::default(),
            failed: AtomicUsize::new(0),
            commons: Commons::default(),
            names: Mutex::new(HashMap::from([(WORLD_CONTEXT, WORLD_NAME.to_owned())])),
            revoked: Mutex::default(),
            any_revoked: AtomicBool::new(false),
            patience: Patience::of(size),
            limit: limit.map(|limit| (limit, Hold::new())),
        }
    }

    /// The time limit of operations, unless another one is set.
    pub(crate) fn limit(&self) -> Option<Limit> {
        self.limit.as_ref().map(|(limit, _)| *limit)
    }

    /// Returns `true` if a rank will neither send nor receive any more.
    pub(crate) fn has_ended(&self, rank: usize) -> bool {
        self.mailboxes
            .get(rank)
            .is_none_or(|mailbox| mailbox.ended.load(Ordering::Acquire))
    }

    pub(crate) fn size(&self) -> usize {
        self.mailboxes.len()
    }

    /// Publishes the observations of its ranks, which make no more calls; once.
    pub(crate) fn end_observing(&self) {
        ranks_trace::end_of_world(self.number);
    }

    /// A new context, and the next one for collectives.
    pub(crate) fn new_context(&self) -> u64 {
        self.next_context.fetch_add(2, Ordering::Relaxed)
    }

    /// Records that `rank` will neither send nor receive any more.
    pub(crate) fn end(&self, rank: usize) {
        if !self.mailboxes[rank].ended.swap(true, Ordering::AcqRel) {
            self.wake_all();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.end_observing();
        if unreceived::IS_TOLD {
            self.tell_of_unreceived();
        }
    }
}

impl Threads for World {
    fn has_ended(&self, rank: usize) -> bool {
        Self::has_ended(self, rank)
    }
}
