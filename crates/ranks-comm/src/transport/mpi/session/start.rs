//! The start of MPI: the library, its launcher, the thread level, and the settings that all ranks
//! agree on.

use std::ffi::c_int;
use std::ptr;
use std::sync::{Arc, Mutex};

use ranks_launch::{Environment, LoadedMpi};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::Loaded;
use ranks_trace::Home;

use super::handlers::Handler;
use super::{OPERATION, STATE, Session, SessionState, WHO, ended, lock};
use crate::call::checks::Comparing;
use crate::call::hold::Hold;
use crate::call::inflight_calls::Held;
use crate::call::limit::{self, Limit};
use crate::call::record::{Recorder, dump};
use crate::call::thread_guard::THREAD_GUARD;
use crate::call::thread_level::ThreadLevel;
use crate::result::status::read_by;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::facts::{Backend, Facts};
use crate::transport::mpi::attributes::attribute;
use crate::transport::mpi::children::{Children, Lineage};
use crate::transport::mpi::communicator::{Comm, rank_and_size, return_errors};
use crate::transport::mpi::datatypes::Cache;
use crate::transport::mpi::detached::DetachedOps;
use crate::transport::mpi::error::check;
use crate::transport::mpi::free_by_group::FreeByGroup;
use crate::transport::mpi::gather_statistics::GatherStatistics;
use crate::transport::mpi::oneself::Packed;
use crate::transport::mpi::overruns::{self, Prevented};
use crate::transport::mpi::peer;
use crate::transport::mpi::receives::Receives;
use crate::transport::mpi::status::{CountWord, READER};
use crate::transport::mpi::{
    fault_tolerance, level, network_atomics, over_hosts, query_ranks, waitall,
};

/// The requirements of a program at the start.
pub(crate) struct Wishes {
    pub(crate) required: Option<ThreadLevel>,
    pub(crate) trusting: bool,
    pub(crate) comparing: Comparing,
    pub(crate) limit: Option<Limit>,
}

/// A handle of the world.
fn world(session: &Arc<Session>) -> Comm {
    let children = Arc::clone(&session.world_children);
    Comm::new(sys::MPI_COMM_WORLD, Arc::clone(session), children, None)
}

/// Starts MPI, or joins the runtime that lives; returns the world, and `true` in the latter case.
pub(crate) fn start(environment: &Environment, wishes: Wishes) -> Result<(Comm, bool)> {
    let Wishes {
        required, trusting, ..
    } = wishes;
    let mut state = lock(&STATE);
    match &*state {
        SessionState::NotStarted => {}
        SessionState::Ended => return Err(ended()),
        SessionState::Live(session) => {
            let session = session.upgrade();
            // This may be the last handle by now, and the end needs the state.
            drop(state);
            return join(&session.ok_or_else(ended)?, required);
        }
    }
    let loaded = load(environment)?;
    read_by(READER);
    let loses = over_hosts::loses_messages(loaded, environment);
    let owner = !initialized()?;
    network_atomics::find_out(loaded, environment, owner);
    let prevented = overruns::prevent(loaded, owner);
    waitall::find_out(loaded);
    let level = if owner {
        // A launcher of another MPI makes the library abort in `MPI_Init`, or start as many worlds
        // as there are processes.
        ranks_launch::check_before_init(environment, &described(loaded)).map_err(unfit)?;
        let overruns = loaded.is_openmpi() && !prevented.here;
        init(Receives::on(loaded, overruns, loses, trusting), required)?
    } else {
        adopted_level()?
    };
    // The library may grant more than the program has asked for.
    let provided = level;
    let level = match required {
        Some(required) if owner => level.min(required),
        _ => level,
    };
    THREAD_GUARD.set_level(level);
    THREAD_GUARD.fast_path.open(level);
    if owner {
        // Whatever fails from here on, there is no second start.
        *state = SessionState::Ended;
    }
    let session = match take_over(
        environment,
        loaded,
        owner,
        (provided, level),
        &wishes,
        (&prevented, loses),
    ) {
        Ok(taken) => taken,
        Err(error) => {
            if owner {
                THREAD_GUARD.close();
                // SAFETY: we have initialised, and nobody has a handle.
                unsafe { sys::MPI_Finalize() };
            }
            return Err(error);
        }
    };
    let facts = &session.facts;
    let _ = WHO.set((facts.rank, facts.size));
    if let Some(path) = facts.library_path() {
        ranks_trace::opened(&facts.library, path);
    }
    dump::at_every_end();
    if let Err(error) = begin_limits(&session) {
        // There is no handle, and the session ends.
        drop(state);
        return Err(error);
    }
    *state = SessionState::Live(Arc::downgrade(&session));
    drop(state);
    *lock(&session.gathering) = GatherStatistics::open(facts, session.max_tag, owner)?;
    Ok((world(&session), false))
}

/// Joins the runtime that lives.
fn join(session: &Arc<Session>, required: Option<ThreadLevel>) -> Result<(Comm, bool)> {
    if THREAD_GUARD.is_closed() {
        return Err(session.closed());
    }
    enough(
        required,
        session.facts.thread_level,
        "of the runtime that lives",
    )?;
    Ok((world(session), true))
}

impl Session {
    /// The error: the runtime was finalized, and handles of it keep MPI alive.
    fn closed(&self) -> Error {
        if self.owner {
            return ended();
        }
        let why = "the runtime that was finalized here has handles still; drop all of them, and start another one";
        Error::new(ErrorKind::Finalized, OPERATION, why)
    }
}

/// Prepares to ask the other ranks at the time limit of the job, or at that of a comparison.
fn begin_limits(session: &Session) -> Result<()> {
    if session.facts.size == 1 || session.hold.is_none() {
        return Ok(());
    }
    limit::watch();
    // If not all ranks have a limit, not all of them come to this.
    let world = Arc::clone(&session.world_recorder);
    let _held = Held::at_the_end(OPERATION, world, session.limit);
    query_ranks::open()
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
    // SAFETY: the user or the administrator of this machine has named them as MPI libraries, or
    // installed them as such.
    unsafe { sys::load(&candidates) }.map_err(|reason| {
        let text = format!(
            "{reason}{because}\nset RANKS_MPI to the file of a libmpi or to the prefix of an MPI"
        );
        Error::with_text(ErrorKind::Load, OPERATION, text).with_source(reason)
    })
}

/// Returns `true` if another part of the program has initialised MPI before.
fn initialized() -> Result<bool> {
    let mut initialized: c_int = 0;
    // SAFETY: the library is loaded; this may be asked at any time; the flag is ours.
    let code = unsafe { sys::MPI_Initialized(&raw mut initialized) };
    check(code, "MPI_Initialized")?;
    if finalized()? {
        return Err(ended());
    }
    Ok(initialized != 0)
}

/// Returns `true` if MPI has ended.
pub(super) fn finalized() -> Result<bool> {
    let mut finalized: c_int = 0;
    // SAFETY: the library is loaded; this may be asked at any time; the flag is ours.
    let code = unsafe { sys::MPI_Finalized(&raw mut finalized) };
    check(code, "MPI_Finalized").map(|()| finalized != 0)
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

/// The error of a launcher that does not fit the library.
fn unfit(reason: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::with_text(ErrorKind::Launch, OPERATION, reason.to_string()).with_source(reason)
}

fn init(receives: Receives, required: Option<ThreadLevel>) -> Result<ThreadLevel> {
    let level = match required {
        // Where messages are matched first, `progress` looks for them; see there.
        Some(level) if !receives.claims() => level,
        _ => ThreadLevel::Multiple,
    };
    let asked = level::to_mpi(level);
    let mut provided = sys::MPI_THREAD_SINGLE;
    // SAFETY: the library is loaded and not yet initialised; MPI takes null for the arguments; the
    // level is ours.
    let code =
        unsafe { sys::MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), asked, &raw mut provided) };
    check(code, OPERATION)?;
    Ok(level::from_mpi(provided))
}

/// The level of an MPI that another part of the program has initialised, on this thread if the
/// level demands it.
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

/// Does all that follows `MPI_Init_thread`.
fn take_over(
    environment: &Environment,
    loaded: &Loaded,
    owner: bool,
    (provided, level): (ThreadLevel, ThreadLevel),
    wishes: &Wishes,
    (prevented, loses): (&Prevented, bool),
) -> Result<Arc<Session>> {
    let (rank, size) = rank_and_size(sys::MPI_COMM_WORLD)?;
    let (found, overruns) = overruns::find_out(loaded, prevented, owner, size)?;
    let mut receives = Receives::on(loaded, overruns, loses, wishes.trusting);
    let from_the_start = [sys::MPI_COMM_WORLD, sys::MPI_COMM_SELF];
    let handlers = if owner {
        from_the_start.into_iter().try_for_each(return_errors)?;
        Vec::new()
    } else {
        let replaced = from_the_start.into_iter().map(Handler::replace);
        replaced.collect::<Result<_>>()?
    };
    fault_tolerance::find_out(loaded);
    if fault_tolerance::is_on() {
        receives.claim(Receives::Failing);
        limit::abort_in_turn(rank);
    }
    enough(wishes.required, level, loaded.name())?;
    ranks_launch::check_after_init(environment, &described(loaded), size).map_err(unfit)?;
    let count_word = CountWord::find()?;
    if count_word.is_none() {
        receives.claim(Receives::Unmeasured);
    }
    // If it is not set: the least value that the standard allows.
    let max_tag = attribute(sys::MPI_TAG_UB)?.unwrap_or(32_767);
    let facts = Facts {
        backend: Backend::Mpi,
        library: loaded.name().to_owned(),
        path: Some(loaded.path().to_path_buf()),
        standard: Some(loaded.standard()),
        thread_level: level,
        launcher: environment.launcher.as_ref().map(ToString::to_string),
        receives: receives.told(&found),
        rank,
        size,
    };
    let mut session = Session {
        receives,
        sentinels: peer::of_library(),
        count_word: count_word.unwrap_or_default(),
        owner,
        facts: Arc::new(facts),
        max_tag,
        world_children: Arc::new(Children::of(Lineage::WORLD)),
        free_by_group: FreeByGroup::default(),
        claims: Mutex::default(),
        world_recorder: Recorder::of_world(Home::PROCESS.world, rank, size),
        world_step: Arc::default(),
        deferred: Mutex::default(),
        datatypes: Cache::default(),
        packed: Packed::on(loaded, wishes.trusting),
        detached: DetachedOps::default(),
        attached: Mutex::default(),
        comparing: wishes.comparing,
        limit: wishes.limit,
        hold: wishes.limit.map(|_| Hold::new()),
        gathering: Mutex::default(),
        polls: provided == ThreadLevel::Multiple,
        handlers,
        finished: false,
    };
    if session.hold.is_none() {
        let compares = session.compares() && size > 1;
        session.hold = session.comparing.hold(compares);
    }
    Ok(Arc::new(session))
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
