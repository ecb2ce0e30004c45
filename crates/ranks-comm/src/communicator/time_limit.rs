//! Time limits of the operations on a communicator.

use std::time::Duration;

use super::Communicator;
use crate::call::limit::{self, Limit, OnTimeLimit, Origin};
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::Backend;

impl Communicator {
    /// Sets the time that operations on this communicator may wait, through any of its handles, in
    /// place of the job's limit; `None` for no limit of its own. Local. Communicators made from
    /// this one do not inherit it; windows do, as it is when they are made.
    ///
    /// Over MPI a collective with a limit is implemented by another operation than one without, so
    /// that all ranks set one, or none does, for the collectives on a communicator. The limits may
    /// differ.
    ///
    /// An operation that has timed out has ended for this rank, with an error of kind
    /// [`TimedOut`](ErrorKind::TimedOut). A receive has taken no message then, unless a long one
    /// was arriving that has not come to its end a moment later: that one is lost. The receives of
    /// [`Requests`](crate::Requests) stay in their set, unless all were waited for
    /// ([`wait_all`](crate::Requests::wait_all)), and a persistent one may still take its message.
    /// A message that was sent may still arrive, and the others may still complete a collective, in
    /// memory of the runtime's own. Where ranks compare their calls
    /// ([`Checks::Collective`](crate::Checks)), and in process, make no collective call any more on
    /// a communicator on which one has timed out: blocking collectives are errors there. An
    /// operation that the library cannot leave aborts the job, see [`OnTimeLimit::Error`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # ranks::run(|world| {
    /// world.set_time_limit(Some(Duration::from_secs(60)))?;
    /// let sending = world.isend(vec![1], world.rank(), 0)?;
    /// world.recv(&mut [0], world.rank(), 0)?;
    /// sending.wait()?;
    /// # Ok::<(), ranks::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the limit is zero.
    pub fn set_time_limit(&self, limit: Option<Duration>) -> Result<()> {
        if let Some(limit) = limit {
            self.prepare("Communicator::set_time_limit", limit)?;
        }
        self.0.limit.set(limit);
        Ok(())
    }

    /// The time that this thread's operations here may wait, if they end with an error then.
    #[doc(hidden)]
    #[must_use]
    pub fn time_limit(&self) -> Option<Duration> {
        let limit = limit_of(self).filter(|limit| limit.then == OnTimeLimit::Error);
        limit.map(|limit| limit.duration)
    }

    /// Calls `f` with this communicator; each operation of this thread in it may wait up to
    /// `limit`, whatever other limits are set.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use ranks::ErrorKind;
    /// # ranks::run(|world| {
    /// let mut answer = [0.0];
    /// match world.within(Duration::from_millis(20), |world| world.recv(&mut answer, world.rank(), 7)) {
    ///     Err(error) if error.kind() == ErrorKind::TimedOut => answer = [1.0], // nobody has sent anything
    ///     other => drop(other?),
    /// }
    /// # Ok::<(), ranks::Error>(())
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
        self.prepare("Communicator::within", limit)?;
        let limit = Limit {
            duration: limit,
            then: OnTimeLimit::Error,
            origin: Origin::Call,
        };
        let _set = limit::set_of_calls(limit);
        f(self)
    }

    /// Checks a limit before it is set.
    fn prepare(&self, operation: &'static str, limit: Duration) -> Result<()> {
        if limit.is_zero() {
            let text = "a time limit of zero ends every operation; pass more, or use nonblocking operations";
            return Err(Error::new(ErrorKind::Argument, operation, text));
        }
        if let Backend::Mpi(_) = self.backend() {
            limit::watch();
        }
        Ok(())
    }
}

/// The calls that only some ranks of a communicator make together, of a group, of another one
/// besides, or those that are left, and which therefore cannot be compared by all; and the epochs
/// of a shared window, whose ranks meet in its memory.
const NOT_COMPARED: [&str; 12] = [
    "MPIX_Comm_agree",
    "MPIX_Comm_shrink",
    "MPI_Comm_create_group",
    "MPI_Intercomm_create",
    "MPI_Win_complete",
    "MPI_Win_start",
    "MPI_Win_wait",
    "SharedWindow::allreduce",
    "SharedWindow::concurrent",
    "SharedWindow::fence",
    "SharedWindow::free",
    "SharedWindow::passive",
];

/// The limit of a call that is not compared, if it has no other: where ranks compare collectives,
/// the limit of that.
pub(super) fn of_what_is_not_compared(comm: &Communicator, operation: &str) -> Option<Limit> {
    let duration = comm.check_limit();
    let is_one = duration < Duration::MAX && NOT_COMPARED.contains(&operation);
    (is_one && comm.compares_calls()).then_some(Limit {
        duration,
        then: OnTimeLimit::Error,
        origin: Origin::Comparison,
    })
}

/// The limit of this thread's calls on a communicator: that of `within`, else the communicator's,
/// else the job's.
pub(super) fn limit_of(comm: &Communicator) -> Option<Limit> {
    limit::of_calls()
        .or_else(|| comm.0.limit.get())
        .or_else(|| match comm.backend() {
            Backend::Mpi(comm) => comm.session.limit,
            Backend::InProcess(comm) => comm.limit_of_job(),
        })
}
