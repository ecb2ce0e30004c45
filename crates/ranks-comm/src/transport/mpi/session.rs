//! The session: from `MPI_Init_thread` (`start.rs`) to `MPI_Finalize` (`end.rs`), once in a
//! process, shared by all its users.

mod end;
mod handlers;
mod last_call;
mod start;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use ranks_mpi_sys::MPI_Comm;
pub(crate) use start::{Wishes, start};

use handlers::Handler;

use super::buffered::Attached;
use super::children::Children;
use super::claims::Claims;
use super::datatypes::Cache;
use super::deferred_free::{DeferredFrees, Waiting};
use super::detached::DetachedOps;
use super::free_by_group::FreeByGroup;
use super::gather_statistics::GatherStatistics;
use super::oneself::Packed;
use super::peer::Sentinels;
use super::receives::Receives;
use super::status::CountWord;
use crate::call::checks::{Checks, Comparing};
use crate::call::hold::Hold;
use crate::call::limit::Limit;
use crate::call::lock::lock;
use crate::call::record::Recorder;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::facts::Facts;

const OPERATION: &str = "MPI_Init_thread";

static STATE: Mutex<SessionState> = Mutex::new(SessionState::NotStarted);

/// This process's rank in the world and the size of the world, for messages.
static WHO: OnceLock<(usize, usize)> = OnceLock::new();

enum SessionState {
    NotStarted,
    Live(Weak<Session>),
    /// `MPI_Finalize` has run, or is about to; there is no second `MPI_Init`.
    Ended,
}

/// MPI, initialised. `MPI_Finalize` runs when the last holder drops it.
pub(crate) struct Session {
    pub(crate) receives: Receives,
    pub(crate) sentinels: Sentinels,
    pub(crate) count_word: CountWord,
    /// `true` if this crate has initialised MPI, and so finalizes it.
    owner: bool,
    pub(crate) facts: Arc<Facts>,
    pub(crate) max_tag: i32,
    world_children: Arc<Children>,
    pub(crate) free_by_group: FreeByGroup,
    /// Receives that wait for their message, of each communicator that has a handle, or was dropped
    /// while they waited.
    claims: Mutex<HashMap<MPI_Comm, Weak<Claims>>>,
    /// The recorder of the world, for all its handles.
    pub(crate) world_recorder: Arc<Recorder>,
    /// `true` if its ranks are out of step in its collectives.
    pub(crate) world_step: Arc<AtomicBool>,
    deferred: Mutex<DeferredFrees>,
    pub(crate) datatypes: Cache,
    /// The datatypes of messages to oneself.
    pub(crate) packed: Packed,
    /// Detached operations.
    pub(crate) detached: DetachedOps,
    /// The attached buffer.
    pub(crate) attached: Mutex<Attached>,
    pub(crate) comparing: Comparing,
    /// The time limit of the job.
    pub(crate) limit: Option<Limit>,
    /// Held while there is a limit, or other ranks may ask for the state of this one.
    hold: Option<Hold>,
    /// The observations that are gathered at the end, until they are.
    gathering: Mutex<Option<GatherStatistics>>,
    /// `true` if the library lets a thread of this crate call, which `progress` has.
    pub(crate) polls: bool,
    /// The error handlers of another part of the program that has initialised MPI, until the end.
    handlers: Vec<Handler>,
    finished: bool,
}

/// Delays `MPI_Finalize` until it is dropped, if that has not run. The holder must not drop a
/// communicator.
pub(crate) fn keep_alive() -> impl Drop {
    lock(&STATE)
}

/// This process's rank in the world and the world's size, once MPI was started.
pub(crate) fn whoami() -> Option<(usize, usize)> {
    WHO.get().copied()
}

fn ended() -> Error {
    Error::new(
        ErrorKind::Finalized,
        OPERATION,
        "MPI has ended in this process, and cannot be started a second time; keep a Runtime alive",
    )
}

impl Session {
    /// The receives on a communicator, for another handle of it: those of all its handles have one
    /// order.
    pub(crate) fn claims_on(&self, comm: MPI_Comm) -> Arc<Claims> {
        let mut known = lock(&self.claims);
        let claims = known.get(&comm).and_then(Weak::upgrade);
        claims.filter(|claims| claims.join()).unwrap_or_else(|| {
            if known.len() == known.capacity() {
                known.retain(|_, claims| claims.strong_count() > 0);
            }
            let claims = Claims::new(comm);
            known.insert(comm, Arc::downgrade(&claims));
            claims
        })
    }

    /// Defers the free of a dropped object, which all of its ranks know by `number`.
    pub(crate) fn defer_free(&self, key: u64, number: u64, dropped: Waiting) {
        lock(&self.deferred).insert(key, number, dropped);
    }

    /// Returns `true` if ranks compare their collective calls: where they must, and otherwise not
    /// where another part of the program may take part in them.
    pub(crate) fn compares(&self) -> bool {
        self.receives.overrun() || self.owner && self.comparing.checks >= Checks::Collective
    }

    /// The likely reason why a library makes no communicator, where many were dropped; otherwise
    /// nothing.
    pub(crate) fn without_room(&self) -> String {
        const MANY: usize = 100;
        let dropped = lock(&self.deferred).len();
        if dropped < MANY {
            return String::new();
        }
        format!(
            "as where it has no room for more ({dropped} were dropped here and are not freed yet)"
        )
    }

    /// A function that returns `true` if no operation is pending on the dropped object of a key;
    /// pending ones are tested now.
    ///
    /// If it were freed before, a library might give its context to another one, which would match
    /// the messages.
    pub(crate) fn are_at_rest(&self) -> impl Fn(u64) -> bool {
        // While no list is locked: the memory of an operation may be dropped, and a communicator
        // with it.
        self.detached.sweep();
        |key| {
            let comm = match lock(&self.deferred).get(key) {
                Some(Waiting::Comm(comm)) => *comm,
                Some(Waiting::Other(other)) => return other.is_at_rest(),
                None => return true,
            };
            !self.detached.any_on(comm)
        }
    }

    /// The place of a new communicator in the order of creation.
    pub(crate) fn key(&self) -> u64 {
        let mut aside = lock(&self.deferred);
        aside.next += 1;
        aside.next
    }

    /// Frees the object with that key. Collective over its ranks.
    pub(crate) fn free(&self, key: u64) -> Result<()> {
        let waiting = lock(&self.deferred).remove(key);
        let Some(waiting) = waiting else {
            return Ok(());
        };
        if let Waiting::Comm(comm) = &waiting {
            self.detached.cancel_on(*comm);
        }
        waiting.free()
    }
}
