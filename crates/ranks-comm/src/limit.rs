//! Time limits of operations that wait for other ranks.
//!
//! While any limit is set, every call is in the list of calls in flight (`inflight_calls.rs`), with its limit. Three things look at
//! that:
//!
//! * waits among threads, which end at the limit ([`in_time()`]);
//! * over MPI, the calls that can be made with a nonblocking operation: it is tested until the limit, and then left to the runtime
//!   or cancelled ([`may_end`]);
//! * the watchdog, for all other calls over MPI: it reports which rank waits for which, and aborts the job.
//!
//! Without a limit the cost is one load on the slow path.

mod in_time;
mod report;
mod text;
mod watchdog;

use std::cell::Cell;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::backend::Backend;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::inflight_calls::Hold;
use crate::runtime::Builder;

pub use in_time::look;
pub(crate) use in_time::{in_time, may_end, own_state};
pub(crate) use report::{Others, State};
pub(crate) use text::parse;
pub(crate) use watchdog::{is_watchdog, stop, watch};

/// The effect of a time limit on an operation. From [`Builder::on_time_limit`] or `RANKS_TIMEOUT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnTimeLimit {
    /// The operation is an error of kind [`TimedOut`](ErrorKind::TimedOut), and the program may go on. Where the library cannot
    /// leave an operation (it makes communicators, say, or fences a window), the job is aborted. `RANKS_TIMEOUT=3s,error`, and
    /// the default.
    #[default]
    Error,
    /// The job is aborted, with a report on standard error. `RANKS_TIMEOUT=3s,abort`.
    Abort,
    /// The operation is reported on standard error, once, and goes on. `RANKS_TIMEOUT=3s,warn`.
    Warn,
}

/// A limit, and its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) duration: Duration,
    pub(crate) then: OnTimeLimit,
    pub(crate) origin: Origin,
}

/// The setter of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Environment,
    Builder,
    Communicator,
    Call,
    /// The limit of comparisons, for calls that ranks cannot compare.
    Comparison,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Environment => "RANKS_TIMEOUT",
            Self::Builder => "Builder::time_limit",
            Self::Communicator => "Communicator::set_time_limit",
            Self::Call => "Communicator::within",
            Self::Comparison => "RANKS_CHECK_LIMIT",
        })
    }
}

/// The limit of the job, over MPI.
static JOB: Mutex<Option<(Limit, Hold)>> = Mutex::new(None);

/// The longest limit at which an operation over MPI has timed out.
static PASSED: Mutex<Option<Limit>> = Mutex::new(None);

thread_local! {
    /// The limit that `within` has set for this thread: the innermost.
    static OF_CALLS: Cell<Option<Limit>> = const { Cell::new(None) };
}

/// The exit status of a process whose job is aborted at a time limit.
const STATUS: i32 = 1;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the limit of the job, over MPI.
pub(crate) fn set_of_job(limit: Option<Limit>) {
    *lock(&JOB) = limit.map(|limit| (limit, Hold::new()));
}

/// The limit of the job, over MPI.
pub(crate) fn of_job() -> Option<Limit> {
    lock(&JOB).as_ref().map(|(limit, _)| *limit)
}

/// Notes that an operation over MPI has timed out.
fn has_passed(limit: Limit) {
    let mut passed = lock(&PASSED);
    if passed.is_none_or(|before| before.duration < limit.duration) {
        *passed = Some(limit);
    }
}

/// Returns `true` if one has.
pub(crate) fn one_has_passed() -> bool {
    lock(&PASSED).is_some()
}

/// The time that the end may take, over MPI: the limit of the job, or else the longest limit at which an operation has timed out.
pub(crate) fn of_end() -> Option<Limit> {
    of_job().or(*lock(&PASSED))
}

/// The calls that only some ranks of a communicator make together, and which therefore cannot be compared by all; and the epochs
/// of a shared window, whose ranks meet in its memory.
const NOT_COMPARED: [&str; 5] = [
    "MPI_Comm_create_group",
    "MPI_Win_complete",
    "MPI_Win_start",
    "MPI_Win_wait",
    "SharedWindow::fence",
];

/// The limit of a call that is not compared, if it has no other: where ranks compare collectives, the limit of that.
pub(crate) fn of_what_is_not_compared(comm: &Communicator, operation: &str) -> Option<Limit> {
    let duration = comm.check_limit();
    let is_one = duration < Duration::MAX && NOT_COMPARED.contains(&operation);
    (is_one && comm.compares_calls()).then_some(Limit {
        duration,
        then: OnTimeLimit::Error,
        origin: Origin::Comparison,
    })
}

/// The limit of this thread's calls on a communicator: that of `within`, else the communicator's, else the job's.
pub(crate) fn limit_of(comm: &Communicator) -> Option<Limit> {
    OF_CALLS
        .get()
        .or_else(|| comm.own_limit())
        .or_else(|| match comm.backend() {
            Backend::Mpi(_) => of_job(),
            Backend::InProcess(comm) => comm.limit_of_job(),
        })
}

/// A communicator's own limit.
#[derive(Debug, Default)]
pub(crate) struct OwnLimit(Mutex<Option<(Limit, Hold)>>);

impl OwnLimit {
    fn set(&self, limit: Option<Duration>) {
        *lock(&self.0) = limit.map(|duration| {
            let limit = Limit {
                duration,
                then: OnTimeLimit::Error,
                origin: Origin::Communicator,
            };
            (limit, Hold::new())
        });
    }

    pub(crate) fn get(&self) -> Option<Limit> {
        lock(&self.0).as_ref().map(|(limit, _)| *limit)
    }
}

impl Builder {
    /// Sets the time that an operation may wait for other ranks, whatever `RANKS_TIMEOUT` says; the same on every rank.
    ///
    /// `RANKS_TIMEOUT` is a number of seconds or has a unit (`3`, `3s`, `500ms`, `2m`), and may name the effect (`3s,abort`;
    /// see [`on_time_limit`](Self::on_time_limit)). If neither is given there is no limit, and no cost.
    ///
    /// The limit is for each operation, not for the program. An operation that times out is an error of kind
    /// [`TimedOut`](ErrorKind::TimedOut), whose text names the operation, the ranks that wait too and those that are silent. Over
    /// MPI all blocking operations work on copies while a limit is set.
    /// See [`Communicator::set_time_limit`] and [`Communicator::within`] for limits of less than the job.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Sets the effect of the time limit, whatever `RANKS_TIMEOUT` says.
    pub fn on_time_limit(mut self, then: OnTimeLimit) -> Self {
        self.on_time_limit = Some(then);
        self
    }
}

impl Communicator {
    /// Sets the time that operations on this communicator may wait, through any of its handles, in place of the job's limit;
    /// `None` for no limit of its own. Local. Communicators made from this one do not inherit it.
    ///
    /// Over MPI a collective with a limit is implemented by another operation than one without, so that all ranks set one, or
    /// none does, for the collectives on a communicator. The limits may differ.
    ///
    /// An operation that has timed out has ended for this rank, with an error of kind [`TimedOut`](ErrorKind::TimedOut). A
    /// receive has taken no message then. A message that was sent may still arrive, and the others may still complete a
    /// collective, in memory of the runtime's own. Where ranks compare their calls ([`Checks::Collective`](crate::Checks)), and
    /// in process, no collective is possible any more on a communicator on which one has timed out. An operation that the
    /// library cannot leave aborts the job, see [`OnTimeLimit::Error`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # ranks_comm::run(|world| {
    /// world.set_time_limit(Some(Duration::from_secs(60)))?;
    /// world.send(&[1], world.rank(), 0)?;
    /// world.recv(&mut [0], world.rank(), 0)?;
    /// # Ok::<(), ranks_comm::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the limit is zero.
    pub fn set_time_limit(&self, limit: Option<Duration>) -> Result<()> {
        if let Some(limit) = limit {
            must_be_positive("Communicator::set_time_limit", limit)?;
            self.may_be_watched();
        }
        self.limit().set(limit);
        Ok(())
    }

    /// The time that this thread's operations here may wait, if they end with an error then.
    #[doc(hidden)]
    #[must_use]
    pub fn time_limit(&self) -> Option<Duration> {
        let limit = limit_of(self).filter(|limit| limit.then == OnTimeLimit::Error);
        limit.map(|limit| limit.duration)
    }

    /// Calls `f` with this communicator; each operation of this thread in it may wait up to `limit`, whatever other limits
    /// are set.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use ranks_comm::ErrorKind;
    /// # ranks_comm::run(|world| {
    /// let mut answer = [0.0];
    /// match world.within(Duration::from_millis(20), |world| world.recv(&mut answer, world.rank(), 7)) {
    ///     Err(error) if error.kind() == ErrorKind::TimedOut => answer = [1.0], // nobody has sent anything
    ///     other => drop(other?),
    /// }
    /// # Ok::<(), ranks_comm::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of `f`: of an operation that has timed out [`ErrorKind::TimedOut`], and as
    /// [`set_time_limit`](Self::set_time_limit) says. [`ErrorKind::Argument`] if the limit is zero.
    pub fn within<R, E: From<Error>>(
        &self,
        limit: Duration,
        f: impl FnOnce(&Self) -> Result<R, E>,
    ) -> Result<R, E> {
        must_be_positive("Communicator::within", limit)?;
        self.may_be_watched();
        let limit = Limit {
            duration: limit,
            then: OnTimeLimit::Error,
            origin: Origin::Call,
        };
        let _hold = Hold::new();
        let _before = Before(OF_CALLS.replace(Some(limit)));
        f(self)
    }

    fn may_be_watched(&self) {
        if let Backend::Mpi(_) = self.backend() {
            watch();
        }
    }
}

/// The limit of the enclosing `within`, restored on drop.
struct Before(Option<Limit>);

impl Drop for Before {
    fn drop(&mut self) {
        OF_CALLS.set(self.0);
    }
}

fn must_be_positive(operation: &'static str, limit: Duration) -> Result<()> {
    if limit.is_zero() {
        let text = "a time limit of zero ends every operation; pass more, or use operations that return at once";
        return Err(Error::new(ErrorKind::Argument, operation, text));
    }
    Ok(())
}
