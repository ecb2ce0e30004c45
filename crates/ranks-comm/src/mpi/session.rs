//! From `MPI_Init_thread` (`start.rs`) to `MPI_Finalize` (`end.rs`): once a process, shared by whoever needs it.

mod end;
mod last_call;
mod start;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;
pub(crate) use start::{Wishes, start};

use super::apart::Apart;
use super::aside::{Aside, Waiting};
use super::backstage::Backstage;
use super::buffered::Attached;
use super::children::Children;
use super::claims::Claims;
use super::communicator::Comm;
use super::datatypes::Cache;
use super::error::check;
use super::oneself::Packed;
use super::orphans::Orphans;
use super::peer::Sentinels;
use super::receives::Receives;
use super::status::CountWord;
use crate::attributes::Attributes;
use crate::checks::{Checks, Comparing};
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::Gate;
use crate::record::{Home, Recorder};
use crate::runtime::Facts;
use crate::thread_level::ThreadLevel;
use crate::under_way::Hold;

const OPERATION: &str = "MPI_Init_thread";

/// Stands before every call of MPI of this process.
pub(crate) static GATE: Gate = Gate::new();

static STATE: Mutex<State> = Mutex::new(State::NotStarted);

/// This process's rank in the world and the size of the world, for messages.
static WHO: OnceLock<(usize, usize)> = OnceLock::new();

enum State {
    NotStarted,
    Live(Weak<Session>, Arc<Facts>, i32),
    /// `MPI_Finalize` has run, or is about to; there is no second `MPI_Init`.
    Ended,
}

/// MPI, initialised. When the last holder lets go, `MPI_Finalize` runs.
pub(super) struct Session {
    pub(super) receives: Receives,
    pub(super) sentinels: Sentinels,
    pub(super) count_word: CountWord,
    /// Whether we have initialised, and so finalize.
    owner: bool,
    level: ThreadLevel,
    size: usize,
    world_children: Arc<Children>,
    pub(super) apart: Apart,
    /// Receives on the world that wait for their message, as long as a handle of it lives.
    world_claims: Mutex<Weak<Claims>>,
    /// What users keep with the world, as long as a handle of it lives.
    world_attributes: Mutex<Weak<Attributes>>,
    /// What is recorded of the world, whichever handle calls.
    world_recorder: OnceLock<Arc<Recorder>>,
    /// Whether its ranks are out of step in its collectives.
    world_step: Arc<AtomicBool>,
    aside: Mutex<Aside>,
    pub(super) datatypes: Cache,
    /// What messages to oneself are made of.
    pub(super) packed: Packed,
    /// Operations that nobody waits for.
    pub(super) orphans: Orphans,
    /// The memory of buffered sends.
    pub(super) attached: Mutex<Attached>,
    pub(super) comparing: Comparing,
    /// While ranks may be asked what they are in.
    hold: Option<Hold>,
    /// Where the ranks bring together what they have observed, until they have.
    backstage: Mutex<Option<Backstage>>,
    /// Whether the library lets a thread of ours call.
    polls: bool,
    finished: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until it is dropped, MPI is not finalized if it is not yet. The holder must not drop a communicator.
pub(super) fn keep_alive() -> impl Drop {
    lock(&STATE)
}

/// This process's rank in the world and the world's size, once MPI was started.
pub(super) fn whoami() -> Option<(usize, usize)> {
    WHO.get().copied()
}

fn world(session: &Arc<Session>, facts: &Facts, max_tag: i32) -> Communicator {
    let children = Arc::clone(&session.world_children);
    let claims = session.world_claims();
    let handle = sys::MPI_COMM_WORLD;
    let comm = Comm::with_claims(handle, Arc::clone(session), children, None, claims);
    let mut known = lock(&session.world_attributes);
    let attributes = known.upgrade().unwrap_or_default();
    *known = Arc::downgrade(&attributes);
    let (rank, size) = (facts.rank, facts.size);
    let recorder = session.world_recorder(rank, size);
    Communicator::over_mpi(comm, rank, size, size, max_tag, recorder)
        .with_attributes(attributes)
        .with_step(Arc::clone(&session.world_step))
}

fn ended() -> Error {
    Error::new(
        ErrorKind::Finalized,
        OPERATION,
        "MPI has ended in this process, and cannot be started a second time; keep a Runtime alive",
    )
}

impl Session {
    /// Lets errors on `comm` return.
    pub(super) fn return_errors(&self, comm: MPI_Comm) -> Result<()> {
        // SAFETY: the communicator is alive, and the handler is the library's own.
        let code = unsafe { sys::MPI_Comm_set_errhandler(comm, sys::MPI_ERRORS_RETURN) };
        check(code, "MPI_Comm_set_errhandler")
    }

    fn world_recorder(&self, rank: usize, size: usize) -> Arc<Recorder> {
        let new = || Recorder::of_world(Home::MPI.world, rank, (0..size).collect());
        Arc::clone(self.world_recorder.get_or_init(new))
    }

    fn world_claims(&self) -> Arc<Claims> {
        let mut known = lock(&self.world_claims);
        let claims = known.upgrade().filter(|claims| claims.join());
        let claims = claims.unwrap_or_else(|| Claims::new(sys::MPI_COMM_WORLD));
        *known = Arc::downgrade(&claims);
        claims
    }

    /// Keeps what was dropped until it can be freed.
    pub(super) fn put_aside(&self, key: u64, dropped: Waiting) {
        lock(&self.aside).waiting.insert(key, dropped);
    }

    /// Whether ranks compare their collective calls: where they must, and otherwise not where another part of the program may take part in them.
    pub(super) fn compares(&self) -> bool {
        self.receives.overrun() || self.owner && self.comparing.checks == Checks::Collective
    }

    /// Whether `progress` may call the library.
    pub(super) fn polls(&self) -> bool {
        self.polls
    }

    /// One of those who have a communicator goes; what it still receives is ended before MPI is.
    pub(super) fn leave(&self, claims: &Arc<Claims>) {
        if claims.leave() {
            self.orphans.remember(claims);
        }
    }

    /// Whether nothing is under way any more on what was dropped.
    ///
    /// If it were freed before, a library might give its context to another one, which would get the messages.
    pub(super) fn is_at_rest(&self, key: u64) -> bool {
        let comm = match lock(&self.aside).waiting.get(&key) {
            Some(Waiting::Comm(comm)) => *comm,
            Some(Waiting::Other(other)) => return other.is_at_rest(),
            None => return true,
        };
        !self.orphans.are_on(comm)
    }

    /// The place of a new communicator in the order of creation.
    pub(super) fn key(&self) -> u64 {
        let mut aside = lock(&self.aside);
        aside.next += 1;
        aside.next
    }

    /// Frees what waits under `key`. Collective over its ranks.
    pub(super) fn free(&self, key: u64) -> Result<()> {
        let waiting = lock(&self.aside).waiting.remove(&key);
        match waiting {
            Some(waiting) => {
                if let Waiting::Comm(comm) = &waiting {
                    self.orphans.cancel_on(*comm);
                }
                waiting.free()
            }
            None => Ok(()),
        }
    }
}
