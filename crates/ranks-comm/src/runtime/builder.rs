//! The settings of a runtime, and its start.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use ranks_launch::Ground;

use super::run::{self, BoxedError};
use super::{Runtime, in_process, settings, world};
use crate::call::checks::{Checks, Comparing};
use crate::call::limit::{Limit, OnTimeLimit};
use crate::call::observe;
use crate::call::thread_level::ThreadLevel;
use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::facts::Backend;
use crate::transport::in_process::membership::Membership;
use crate::transport::in_process::world::World;
use crate::transport::mpi;

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
    /// If the library grants less than is required here, starting is an error. Without this call a
    /// lower level is accepted; it is reported by
    /// [`Facts::thread_level`](crate::Facts::thread_level), and every call checks it.
    pub fn thread_level(mut self, required: ThreadLevel) -> Self {
        self.required = Some(required);
        self
    }

    /// Sets the transport, whatever `RANKS_BACKEND` says.
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// Sets the number of in-process ranks, whatever `RANKS_NP` says. Ignored over MPI, where the
    /// launcher decides.
    pub fn ranks(mut self, ranks: usize) -> Self {
        self.ranks = Some(ranks);
        self
    }

    /// Sets the level of checks, whatever `RANKS_CHECK` says; the same on every rank.
    ///
    /// The default is [`Checks::Collective`] in builds with debug assertions, [`Checks::Local`]
    /// otherwise.
    pub fn checks(mut self, checks: Checks) -> Self {
        self.checks = Some(checks);
        self
    }

    /// Sets the time that a rank waits for all others to come to a collective where calls are
    /// compared, whatever `RANKS_CHECK_LIMIT` says. For ever if neither is given.
    ///
    /// After the limit the collective is [`ErrorKind::TimedOut`] on the ranks that came, and so is
    /// every later one on that communicator. The error names the calls that the other ranks are in,
    /// also of those that have come to the end of the program. The limit of a nonblocking
    /// collective is on the wait, not on the time from start to end. Calls that only some ranks
    /// make have the same limit, as if it were a [time limit](Self::time_limit): over MPI, where
    /// the library cannot be left, the job is aborted.
    pub fn check_limit(mut self, limit: Duration) -> Self {
        self.check_limit = Some(limit);
        self
    }

    /// Sets the time that an operation may wait for other ranks, whatever `RANKS_TIMEOUT` says; the
    /// same on every rank.
    ///
    /// `RANKS_TIMEOUT` is a number of seconds or has a unit (`3`, `3s`, `500ms`, `2m`, `1h`), and
    /// may name the effect (`3s,abort`; see [`on_time_limit`](Self::on_time_limit)). If neither is
    /// given there is no limit, and no cost.
    ///
    /// The limit is for each operation, not for the program. An operation that times out is an
    /// error of kind [`TimedOut`](ErrorKind::TimedOut), whose text names the operation, the ranks
    /// that wait too and those that are silent. Over MPI blocking operations work on copies
    /// while a limit is set. See [`Communicator::set_time_limit`] and [`Communicator::within`] for
    /// limits of less than the job.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Sets the effect of the time limit, whatever `RANKS_TIMEOUT` says.
    pub fn on_time_limit(mut self, then: OnTimeLimit) -> Self {
        self.on_time_limit = Some(then);
        self
    }

    /// Starts the runtime, runs `f` on every rank, ends it, and returns the value of `f`. See
    /// [`run`](crate::run()).
    ///
    /// # Errors
    /// Those of `f`, or of the start or the end of the runtime.
    pub fn run<T, E>(self, f: impl Fn(Communicator) -> Result<T, E> + Send + Sync) -> Result<T, E>
    where
        T: Send,
        E: From<Error> + Into<BoxedError> + Display + Send,
    {
        let environment = settings::environment()?;
        observe::start();
        match settings::resolve(self.backend, &environment)? {
            Ground::Mpi => {
                let (world, joined) = mpi::start(&environment, self.wishes()?)?;
                run::over_mpi(world::over_mpi(world), joined, f)
            }
            Ground::InProcess => {
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
    /// [`ErrorKind::Load`] or [`ErrorKind::Launch`] if MPI is needed and cannot be used;
    /// [`ErrorKind::Argument`] if several in-process ranks are asked for; [`ErrorKind::Finalized`]
    /// if MPI has already ended in this process; [`ErrorKind::WrongThread`] if the library grants
    /// less than [`thread_level`](Self::thread_level) requires.
    ///
    /// MPI 5.0 §11.2.1 (`MPI_Init_thread`).
    #[doc(alias = "MPI_Init")]
    #[doc(alias = "MPI_Init_thread")]
    pub fn init(self) -> Result<Runtime> {
        let environment = settings::environment()?;
        observe::start();
        match settings::resolve(self.backend, &environment)? {
            Ground::Mpi => {
                let (world, _) = mpi::start(&environment, self.wishes()?)?;
                Ok(world::over_mpi(world))
            }
            Ground::InProcess => {
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
                let place = Membership::new(world, 0, self.level(), self.comparing()?);
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
