//! Initialisation and finalisation: over MPI under a launcher, as threads of this process without one.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::backend::Backend as Behind;
use crate::checks::{Checks, Comparing};
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::in_process::place::Place;
use crate::in_process::world::World;
use crate::in_process::{Comm, LIBRARY};
use crate::limit::{Limit, OnTimeLimit};
use crate::observe::{self, Clock, Statistics, Who};
use crate::run::BoxedError;
use crate::thread_level::ThreadLevel;
use crate::told::Told;
use crate::{mpi, run, settings};

/// The transport of the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Backend {
    /// The value of `RANKS_BACKEND` (`mpi` or `inprocess`); if it is not set, MPI under a launcher, else in process.
    #[default]
    Auto,
    /// An MPI library, even without a launcher (as a singleton, a job of one rank).
    Mpi,
    /// Threads of this process.
    InProcess,
}

/// The communication layer while it lives: from `MPI_Init_thread` to `MPI_Finalize`, or the in-process world.
///
/// Handles are counted. Every [`Communicator`] keeps the runtime alive; it ends when the last handle is dropped.
/// While an MPI runtime lives, starting another one joins it.
///
/// MPI 5.0 §11.2.
#[derive(Debug, Clone)]
pub struct Runtime {
    world: Communicator,
    facts: Arc<Facts>,
}

impl Runtime {
    /// A builder with the defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(world: Communicator, facts: Arc<Facts>) -> Self {
        Self { world, facts }
    }

    /// The communicator of all ranks.
    #[doc(alias = "MPI_COMM_WORLD")]
    #[must_use]
    pub fn world(&self) -> Communicator {
        self.world.clone()
    }

    /// The facts that were found at the start.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The counts and times of this rank's calls so far, on all communicators; empty without `RANKS_STATS`. Local.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        observe::statistics(self.world.recorder(), true)
    }

    /// Ends communication: from now on every call on any handle is [`ErrorKind::Finalized`].
    ///
    /// `MPI_Finalize` runs here if no other handle lives, otherwise when the last one is dropped. An MPI that another part of the
    /// program initialised is left running.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`] if it was finalized before, [`ErrorKind::WrongThread`], or what `MPI_Finalize` reports if
    /// it runs here.
    ///
    /// MPI 5.0 §11.2.2 (`MPI_Finalize`).
    #[doc(alias = "MPI_Finalize")]
    pub fn finalize(self) -> Result<()> {
        self.end().map(drop)
    }

    /// Ends the runtime. Returns the number of handles that live on, which keep MPI alive as well.
    pub(crate) fn end(self) -> Result<usize> {
        drop(self.world.enter("MPI_Finalize")?);
        // While MPI can still be called: an attribute's value may be a communicator, or communicate when it is dropped.
        self.world.attributes().clear();
        let mut others = self.world.other_handles();
        match self.world.backend() {
            Behind::Mpi(comm) => {
                comm.end_observing();
                others += comm.other_holders();
                mpi::THREAD_GUARD.close();
            }
            Behind::InProcess(comm) => {
                // Others may be in a collective that this rank will never join. No rank waits for another here.
                if self.world.compares_calls() {
                    let _ = comm.tell_all(Told::named("MPI_Finalize").bytes());
                }
                comm.close();
            }
        }
        let has_ended = match self.world.into_backend() {
            Some(Behind::Mpi(comm)) => comm.end()?,
            Some(Behind::InProcess(_)) => true,
            None => false,
        };
        // Handles may have been dropped since they were counted, or made.
        Ok(if has_ended { 0 } else { others.max(1) })
    }
}

/// Facts about the runtime, for reports and for decisions: the library, the thread level, the number of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub(crate) backend: Backend,
    pub(crate) library: String,
    pub(crate) path: Option<PathBuf>,
    pub(crate) standard: Option<(i32, i32)>,
    pub(crate) thread_level: ThreadLevel,
    pub(crate) launcher: Option<String>,
    pub(crate) receives: String,
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

impl Facts {
    /// [`Backend::Mpi`] or [`Backend::InProcess`].
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The library's name and version, such as `Open MPI 5.0.11`, or `in process`.
    #[doc(alias = "MPI_Get_library_version")]
    #[must_use]
    pub fn library(&self) -> &str {
        &self.library
    }

    /// The file that was opened; `None` in process.
    #[must_use]
    pub fn library_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The version of the MPI standard that the library reports; `None` in process.
    #[doc(alias = "MPI_Get_version")]
    #[must_use]
    pub fn standard(&self) -> Option<(i32, i32)> {
        self.standard
    }

    /// The thread level that was granted. If it is lower than [`ThreadLevel::Multiple`], every call checks it.
    #[doc(alias = "MPI_Query_thread")]
    #[must_use]
    pub fn thread_level(&self) -> ThreadLevel {
        self.thread_level
    }

    /// The launcher that started this process, such as `Open MPI's mpiexec`.
    #[must_use]
    pub fn launcher(&self) -> Option<&str> {
        self.launcher.as_deref()
    }

    /// A line about a program that no launcher has started in a batch job of several hosts: `alone on one of the 2 hosts of Slurm job 18`. All
    /// its ranks are on that one, which may be meant so or not.
    #[must_use]
    pub fn alone(&self) -> Option<&str> {
        settings::alone()
    }

    /// The way in which messages are received, so that none is written past its slice: `posted` to the library, or `claimed` (by a
    /// matched probe), which costs more; and the facts about the library that decided it.
    #[must_use]
    pub fn receives(&self) -> &str {
        &self.receives
    }

    /// This rank in the world.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The size of the world.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

impl Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {} on {}", self.rank, self.size, self.library)?;
        if let Some(path) = &self.path {
            write!(f, " ({})", path.display())?;
        }
        write!(f, ", {}", self.thread_level)?;
        if let Some(launcher) = &self.launcher {
            write!(f, ", started by {launcher}")?;
        }
        if let Some(alone) = self.alone() {
            write!(f, ", {alone}")?;
        }
        write!(f, "; receives are {}", self.receives)
    }
}

/// The settings of a runtime, and the methods that start it.
#[derive(Debug, Clone, Default)]
#[must_use = "nothing starts before `run` or `init`"]
pub struct Builder {
    backend: Backend,
    ranks: Option<usize>,
    required: Option<ThreadLevel>,
    /// `true` if the caller guarantees that messages fit, see `trusting`.
    pub(crate) trusting: bool,
    pub(crate) checks: Option<Checks>,
    pub(crate) check_limit: Option<Duration>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) on_time_limit: Option<OnTimeLimit>,
}

impl Builder {
    /// Requires a thread level. Without this call [`ThreadLevel::Multiple`] is requested.
    ///
    /// If the library grants less than is required here, starting is an error. Without this call a lower level is accepted; it is
    /// reported by [`Facts::thread_level`], and every call checks it.
    pub fn thread_level(mut self, required: ThreadLevel) -> Self {
        self.required = Some(required);
        self
    }

    /// Sets the transport, whatever `RANKS_BACKEND` says.
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// Sets the number of in-process ranks, whatever `RANKS_NP` says. Ignored over MPI, where the launcher decides.
    pub fn ranks(mut self, ranks: usize) -> Self {
        self.ranks = Some(ranks);
        self
    }

    /// Starts the runtime, runs `f` on every rank, and ends it. See [`run`](crate::run()).
    ///
    /// # Errors
    /// Those of `f`, or of the start or the end of the runtime.
    pub fn run<E>(self, f: impl Fn(Communicator) -> Result<(), E> + Send + Sync) -> Result<(), E>
    where
        E: From<Error> + Into<BoxedError> + Display + Send,
    {
        let environment = settings::environment()?;
        observe::start();
        match settings::resolve(self.backend, &environment)? {
            Chosen::Mpi => {
                let (runtime, joined) = mpi::start(&environment, self.wishes()?)?;
                run::over_mpi(runtime, joined, f)
            }
            Chosen::InProcess => {
                let ranks = settings::ranks(self.ranks)?;
                let world = World::limited(ranks, self.limit()?);
                run::in_process(world, self.level(), self.comparing()?, f)
            }
        }
    }

    /// Starts the runtime and returns a handle; for programs that cannot run inside a closure.
    ///
    /// In process this is a world of the calling thread alone.
    ///
    /// # Errors
    /// [`ErrorKind::Load`] or [`ErrorKind::Launch`] if MPI is needed and cannot be used; [`ErrorKind::Argument`] if
    /// several in-process ranks are asked for; [`ErrorKind::Finalized`] if MPI has already ended in this process;
    /// [`ErrorKind::WrongThread`] if the library grants less than [`thread_level`](Self::thread_level) requires.
    ///
    /// MPI 5.0 §11.2.1 (`MPI_Init_thread`).
    #[doc(alias = "MPI_Init")]
    #[doc(alias = "MPI_Init_thread")]
    pub fn init(self) -> Result<Runtime> {
        let environment = settings::environment()?;
        observe::start();
        match settings::resolve(self.backend, &environment)? {
            Chosen::Mpi => mpi::start(&environment, self.wishes()?).map(|(runtime, _)| runtime),
            Chosen::InProcess => {
                let ranks = settings::ranks(self.ranks)?;
                if ranks != 1 {
                    return Err(Error::new(
                        ErrorKind::Argument,
                        "MPI_Init_thread",
                        format_args!(
                            "{ranks} in-process ranks are threads that only `run` can start; use `run`"
                        ),
                    ));
                }
                let world = Arc::new(World::limited(1, self.limit()?));
                let place = Place::new(world, 0, self.level(), self.comparing()?);
                Ok(in_process(place))
            }
        }
    }

    fn wishes(&self) -> Result<mpi::Wishes> {
        Ok(mpi::Wishes {
            required: self.required,
            trusting: self.trusting,
            comparing: self.comparing()?,
            limit: self.limit()?,
        })
    }

    fn limit(&self) -> Result<Option<Limit>> {
        settings::time_limit(self.time_limit, self.on_time_limit)
    }

    fn comparing(&self) -> Result<Comparing> {
        Ok(Comparing {
            checks: settings::checks(self.checks)?,
            limit: settings::check_limit(self.check_limit)?,
        })
    }

    fn level(&self) -> ThreadLevel {
        self.required.unwrap_or(ThreadLevel::Multiple)
    }
}

/// The transport, decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chosen {
    Mpi,
    InProcess,
}

/// The runtime of one in-process rank.
pub(crate) fn in_process(place: Place) -> Runtime {
    let who = Who {
        rank: place.rank,
        size: place.world.size(),
        library: LIBRARY.to_owned(),
        job: place.world.job,
    };
    observe::begin(place.home(), who, Clock::own());
    let facts = Facts {
        backend: Backend::InProcess,
        library: LIBRARY.to_owned(),
        path: None,
        standard: None,
        thread_level: place.gate.level(),
        launcher: None,
        receives: "posted".to_owned(),
        rank: place.rank,
        size: place.world.size(),
    };
    let world = Communicator::in_process(Comm::world(Arc::new(place)));
    Runtime::new(world, Arc::new(facts))
}
