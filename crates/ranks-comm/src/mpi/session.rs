//! From `MPI_Init_thread` to `MPI_Finalize`: once a process, shared by whoever needs it.

use std::ffi::c_int;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use ranks_launch::{Environment, LoadedMpi};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{Loaded, MPI_Comm};

use super::apart::Apart;
use super::aside::{Aside, Waiting};
use super::attributes::attribute;
use super::backstage::Backstage;
use super::buffered::Attached;
use super::children::Children;
use super::claims::Claims;
use super::communicator::Comm;
use super::datatypes::Cache;
use super::error::check;
use super::fault_tolerance;
use super::level;
use super::orphans::Orphans;
use super::over_hosts;
use super::peer::Sentinels;
use super::progress;
use super::roll_call;
use super::split::rank_and_size;
use super::status::CountWord;
use crate::attributes::Attributes;
use crate::checks::{Checks, Comparing};
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::Gate;
use crate::limit::{self, Limit, OnTimeLimit};
use crate::record::dump::{self, Reason};
use crate::record::{Home, Recorder};
use crate::run::last_words;
use crate::runtime::{Backend, Facts, Runtime};
use crate::thread_level::ThreadLevel;
use crate::under_way::Held;

const OPERATION: &str = "MPI_Init_thread";

/// Stands before every call of MPI of this process.
pub(crate) static GATE: Gate = Gate::new();

/// How long `MPI_Finalize` has at least, where a time limit is set.
const LONG: Duration = Duration::from_secs(10);

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
    /// Receives into fewer bytes than this claim the message first, see `recv`.
    pub(super) claim_below: usize,
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
    aside: Mutex<Aside>,
    pub(super) datatypes: Cache,
    /// Operations that nobody waits for.
    pub(super) orphans: Orphans,
    /// The memory of buffered sends.
    pub(super) attached: Mutex<Attached>,
    pub(super) comparing: Comparing,
    /// Where the ranks bring together what they have observed, until they have.
    backstage: Mutex<Option<Backstage>>,
    /// Whether the library lets a thread of ours call.
    polls: bool,
    finished: bool,
}

/// What a program asks for at the start.
pub(crate) struct Wishes {
    pub(crate) required: Option<ThreadLevel>,
    pub(crate) trusting: bool,
    pub(crate) comparing: Comparing,
    pub(crate) limit: Option<Limit>,
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

/// Starts MPI, or joins the runtime that lives; the flag says that it joined.
pub(crate) fn start(environment: &Environment, wishes: Wishes) -> Result<(Runtime, bool)> {
    let Wishes {
        required, trusting, ..
    } = wishes;
    let mut state = lock(&STATE);
    match &*state {
        State::NotStarted => {}
        State::Ended => return Err(ended()),
        State::Live(session, facts, max_tag) => {
            let Some(session) = session.upgrade().filter(|_| !GATE.is_closed()) else {
                return Err(ended());
            };
            enough(required, facts.thread_level, "of the runtime that lives")?;
            let world = world(&session, facts, *max_tag);
            return Ok((Runtime::new(world, Arc::clone(facts)), true));
        }
    }
    let loaded = load(environment)?;
    let loses = over_hosts::loses_messages(loaded, environment);
    let claim_below = claim_below(loaded, trusting, loses);
    let owner = !initialized()?;
    let level = if owner {
        before_init(environment, loaded)?;
        init(claim_below, required)?
    } else {
        adopted_level()?
    };
    // What the library allows may be more than what the program has asked for.
    let provided = level;
    let level = match required {
        Some(required) if owner => level.min(required),
        _ => level,
    };
    GATE.set_level(level);
    GATE.open_express(level);
    if owner {
        // Whatever goes wrong from here on, there is no second start.
        *state = State::Ended;
    }
    let (session, facts, max_tag) = match take_over(
        environment,
        loaded,
        owner,
        (provided, level),
        &wishes,
        claim_below,
    ) {
        Ok(taken) => taken,
        Err(error) => {
            if owner {
                GATE.close();
                // SAFETY: we have initialised, and nobody has a handle.
                unsafe { sys::MPI_Finalize() };
            }
            return Err(error);
        }
    };
    let _ = WHO.set((facts.rank, facts.size));
    dump::on_termination();
    if let Err(error) = begin_limits(wishes.limit, &session, facts.rank, facts.size) {
        // Nobody has a handle, and the session ends.
        drop(state);
        return Err(error);
    }
    *state = State::Live(Arc::downgrade(&session), Arc::clone(&facts), max_tag);
    drop(state);
    *lock(&session.backstage) = Backstage::open(&facts, max_tag, owner)?;
    let world = world(&session, &facts, max_tag);
    Ok((Runtime::new(world, facts), false))
}

/// Sets the time limit of the job, and gets ready to ask the other ranks at its end.
fn begin_limits(limit: Option<Limit>, session: &Session, rank: usize, size: usize) -> Result<()> {
    limit::set_of_job(limit);
    let Some(limit) = limit.filter(|_| size > 1) else {
        return Ok(());
    };
    limit::watch();
    // Where not all ranks have a limit, not all of them come to this.
    let _held = Held::at_the_end(OPERATION, session.world_recorder(rank, size), limit);
    roll_call::open(size)
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
    Communicator::over_mpi(comm, rank, size, size, max_tag, recorder).with_attributes(attributes)
}

fn ended() -> Error {
    Error::new(
        ErrorKind::Finalized,
        OPERATION,
        "MPI has ended in this process, and cannot be started a second time; keep a Runtime alive",
    )
}

fn load(environment: &Environment) -> Result<&'static Loaded> {
    let because = match &environment.launcher {
        Some(_) => format!("\n({environment}, so an MPI library is needed)"),
        None => String::new(),
    };
    let candidates = ranks_launch::candidates(environment).map_err(|reason| {
        Error::with_text(ErrorKind::Load, OPERATION, format!("{reason}{because}"))
            .with_source(reason)
    })?;
    sys::load(&candidates).map_err(|reason| {
        let text = format!(
            "{reason}{because}\nset RANKS_MPI to the file of a libmpi or to the prefix of an MPI"
        );
        Error::with_text(ErrorKind::Load, OPERATION, text).with_source(reason)
    })
}

/// Whether somebody has initialised MPI before us.
fn initialized() -> Result<bool> {
    let (mut initialized, mut finalized): (c_int, c_int) = (0, 0);
    // SAFETY: the library is loaded; this may be asked at any time; the flag is ours.
    let code = unsafe { sys::MPI_Initialized(&raw mut initialized) };
    check(code, "MPI_Initialized")?;
    // SAFETY: as above.
    let code = unsafe { sys::MPI_Finalized(&raw mut finalized) };
    check(code, "MPI_Finalized")?;
    if finalized != 0 {
        return Err(ended());
    }
    Ok(initialized != 0)
}

/// A launcher of another MPI makes the library abort in `MPI_Init`, or start as many worlds as there are processes.
fn before_init(environment: &Environment, loaded: &Loaded) -> Result<()> {
    ranks_launch::check_before_init(environment, &described(loaded)).map_err(|reason| {
        Error::with_text(ErrorKind::Launch, OPERATION, reason.to_string()).with_source(reason)
    })
}

fn described(loaded: &Loaded) -> LoadedMpi<'_> {
    LoadedMpi {
        family: ranks_launch::Family::from_version_text(loaded.version_text()),
        name: loaded.name(),
        file: loaded.path(),
        pmix: loaded.may_use_pmix(),
        pmi: loaded.may_use_pmi(),
    }
}

fn init(claim_below: usize, required: Option<ThreadLevel>) -> Result<ThreadLevel> {
    let level = match required {
        // Where messages are claimed, `progress` looks for them; see there.
        Some(level) if claim_below < usize::MAX => level,
        _ => ThreadLevel::Multiple,
    };
    let asked = level::to_mpi(level);
    let mut provided = sys::MPI_THREAD_SINGLE;
    // SAFETY: the library is loaded and not yet initialised; MPI takes null for the arguments; the level is ours.
    let code =
        unsafe { sys::MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), asked, &raw mut provided) };
    check(code, OPERATION)?;
    Ok(level::from_mpi(provided))
}

/// The level of an MPI that somebody else has initialised, who has to be on this thread if the level demands it.
fn adopted_level() -> Result<ThreadLevel> {
    let mut provided = sys::MPI_THREAD_SINGLE;
    // SAFETY: MPI is initialised; the level is ours.
    let code = unsafe { sys::MPI_Query_thread(&raw mut provided) };
    check(code, "MPI_Query_thread")?;
    let mut main: c_int = 0;
    // SAFETY: MPI is initialised; the flag is ours.
    let code = unsafe { sys::MPI_Is_thread_main(&raw mut main) };
    check(code, "MPI_Is_thread_main")?;
    let level = level::from_mpi(provided);
    if level < ThreadLevel::Serialized && main == 0 {
        return Err(Error::new(
            ErrorKind::WrongThread,
            OPERATION,
            format_args!(
                "MPI was initialised on another thread with {level}; start the runtime on that one"
            ),
        ));
    }
    Ok(level)
}

/// All that follows `MPI_Init_thread`.
fn take_over(
    environment: &Environment,
    loaded: &Loaded,
    owner: bool,
    (provided, level): (ThreadLevel, ThreadLevel),
    wishes: &Wishes,
    claim_below: usize,
) -> Result<(Arc<Session>, Arc<Facts>, i32)> {
    let (rank, size) = rank_and_size(sys::MPI_COMM_WORLD)?;
    let mut session = Session {
        claim_below,
        sentinels: Sentinels::of_library(),
        count_word: CountWord::default(),
        owner,
        level,
        size,
        world_children: Arc::default(),
        apart: Apart::default(),
        world_claims: Mutex::default(),
        world_attributes: Mutex::default(),
        world_recorder: OnceLock::new(),
        aside: Mutex::default(),
        datatypes: Cache::default(),
        orphans: Orphans::default(),
        attached: Mutex::default(),
        comparing: wishes.comparing,
        backstage: Mutex::default(),
        polls: provided == ThreadLevel::Multiple,
        finished: true,
    };
    session.return_errors(sys::MPI_COMM_WORLD)?;
    session.return_errors(sys::MPI_COMM_SELF)?;
    fault_tolerance::find_out(loaded);
    if fault_tolerance::is_on() {
        // A receive of a library that goes on may fail without being over; one that is claimed is begun with its message.
        session.claim_below = usize::MAX;
    }
    enough(wishes.required, level, loaded.name())?;
    ranks_launch::check_after_init(environment, &described(loaded), size).map_err(|reason| {
        Error::with_text(ErrorKind::Launch, OPERATION, reason.to_string()).with_source(reason)
    })?;
    match CountWord::find()? {
        Some(word) => session.count_word = word,
        // Lengths cannot be seen in statuses, so every message's is asked for before it is received.
        None => session.claim_below = usize::MAX,
    }
    let max_tag = max_tag()?;
    session.finished = false;
    let facts = Facts {
        backend: Backend::Mpi,
        library: loaded.name().to_owned(),
        path: Some(loaded.path().to_path_buf()),
        standard: Some(loaded.standard()),
        thread_level: level,
        launcher: environment.launcher.as_ref().map(ToString::to_string),
        rank,
        size,
    };
    Ok((Arc::new(session), Arc::new(facts), max_tag))
}

fn enough(required: Option<ThreadLevel>, granted: ThreadLevel, whose: &str) -> Result<()> {
    match required {
        Some(required) if granted < required => Err(Error::new(
            ErrorKind::WrongThread,
            OPERATION,
            format_args!(
                "{required} is required, but the level {whose} grants is {granted}; require less or use another library"
            ),
        )),
        _ => Ok(()),
    }
}

/// Which receives are not safe, or not told, on this library; see `recv` for what was seen.
fn claim_below(loaded: &Loaded, trusting: bool, loses: bool) -> usize {
    if loses || (loaded.is_openmpi() || loaded.has_ch3()) && !trusting {
        usize::MAX
    } else {
        1
    }
}

fn max_tag() -> Result<i32> {
    // If it is not set: what the standard promises at least.
    Ok(attribute(sys::MPI_TAG_UB)?.unwrap_or(32_767))
}

impl Session {
    /// Lets errors on `comm` return.
    pub(super) fn return_errors(&self, comm: MPI_Comm) -> Result<()> {
        // SAFETY: the communicator is alive, and the handler is the library's own.
        let code = unsafe { sys::MPI_Comm_set_errhandler(comm, sys::MPI_ERRORS_RETURN) };
        check(code, "MPI_Comm_set_errhandler")
    }

    fn world_recorder(&self, rank: usize, size: usize) -> Arc<Recorder> {
        let new = || Recorder::of_world(Home::MPI.world, rank, size);
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

    /// Whether ranks compare their collective calls: not where another part of the program may take part in them.
    pub(super) fn compares(&self) -> bool {
        self.owner && self.comparing.checks == Checks::Collective
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

    /// Brings together what the ranks have observed. By all ranks, once; a failure ends nothing but this.
    pub(super) fn end_observing(&self) {
        let backstage = lock(&self.backstage).take();
        if let Some(Err(error)) = backstage.map(Backstage::close) {
            eprintln!("ranks: not all that was observed could be brought together: {error}");
        }
    }

    /// Ends MPI, and says how that went.
    pub(super) fn finish(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        progress::stop();
        if thread::panicking() && self.size > 1 && self.owner {
            let (rank, size) = whoami().unwrap_or_default();
            dump::write(Reason::Panic, None, None);
            last_words(format_args!(
                "rank {rank} of {size} panicked; the job is aborted"
            ));
            // SAFETY: MPI is alive until the end of this function.
            unsafe { sys::MPI_Abort(sys::MPI_COMM_WORLD, 101) };
        }
        let may_call = self.level == ThreadLevel::Multiple || GATE.is_main();
        let limit = limit::of_end();
        // Before the state is locked: an operation that ends may look at it to ask for a length.
        let settled = if may_call {
            self.orphans
                .settle(limit.map_or(Duration::MAX, |limit| limit.duration))
                .and_then(|()| self.all_come(limit))
        } else {
            Ok(())
        };
        roll_call::close();
        // All have come by now, so that what follows takes as long as the library needs.
        let held = limit.map(|limit| {
            let duration = limit.duration.max(LONG);
            self.ending(Limit { duration, ..limit })
        });
        if may_call && settled.is_ok() {
            self.end_observing();
        }
        let mut state = lock(&STATE);
        if self.owner {
            *state = State::Ended;
        } else {
            *state = State::NotStarted;
        }
        if !may_call {
            GATE.close();
            eprintln!(
                "ranks: MPI_Finalize was not called, because the last handle went on another thread than the one \
                 that initialised, and the thread level is {}",
                self.level
            );
            return Ok(());
        }
        if let Err(error) = settled {
            GATE.close();
            return Err(error);
        }
        let mut outcome = Ok(());
        let nobody_is_lost = fault_tolerance::nobody_is_lost(self.owner);
        if nobody_is_lost {
            outcome = self.detach_what_was_left();
            let waiting = std::mem::take(&mut lock(&self.aside).waiting);
            for waiting in waiting.into_values() {
                outcome = outcome.and(waiting.free());
            }
        } else {
            // Freeing may wait for a rank that is gone. The library may still use what is kept here.
            std::mem::forget(std::mem::take(&mut *lock(&self.attached)));
            std::mem::forget(std::mem::take(&mut lock(&self.aside).waiting));
        }
        outcome = outcome.and(self.datatypes.free());
        GATE.close();
        if self.owner && nobody_is_lost {
            outcome = outcome.and(over_hosts::quiesce());
            // SAFETY: we have initialised, this is the last handle, and the thread may.
            let code = unsafe { sys::MPI_Finalize() };
            outcome = outcome.and(check(code, "MPI_Finalize"));
        }
        drop(held);
        limit::set_of_job(None);
        limit::stop();
        outcome
    }

    /// That this rank ends.
    fn ending(&self, limit: Limit) -> Held {
        let (rank, size) = whoami().unwrap_or_default();
        let world = self.world_recorder(rank, size);
        Held::at_the_end("MPI_Finalize", world, limit)
    }

    /// Waits until all ranks are about to end, where a time limit is set for the job.
    fn all_come(&self, limit: Option<Limit>) -> Result<()> {
        let Some(limit) = limit.filter(|limit| limit.then != OnTimeLimit::Warn) else {
            return Ok(());
        };
        if fault_tolerance::is_on() {
            // Those that are lost come no more, and the others are asked about them below.
            return Ok(());
        }
        let held = self.ending(limit);
        if roll_call::all_come(limit.duration)? {
            return Ok(());
        }
        held.is_late()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("ranks: {error}");
        }
    }
}
