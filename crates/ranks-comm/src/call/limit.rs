//! Time limits of operations that wait for other ranks.
//!
//! While any limit is set, every call is in the list of calls in flight (`inflight_calls.rs`), with
//! its limit. Three things look at that:
//!
//! * waits among threads, which end at the limit ([`in_time()`]);
//! * over MPI, the calls that can be made with a nonblocking operation: it is tested until the
//!   limit, and then left to the runtime or cancelled ([`may_end`]);
//! * the watchdog, for all other calls over MPI: it reports which rank waits for which, and aborts
//!   the job.
//!
//! Without a limit the cost is one load on the slow path.

mod in_time;
mod last_resort;
mod pause;
mod processes;
mod report;
mod text;
mod watchdog;

use std::cell::Cell;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use crate::call::hold::Hold;
use crate::call::lock::lock;

#[cfg(test)]
pub(crate) use in_time::asked;
pub use in_time::look;
pub(crate) use in_time::{in_time, is_limited, may_end, own_state};
pub(crate) use last_resort::{abort, abort_for_sure, abort_in_turn};
pub use pause::Pause;
pub(crate) use processes::{Processes, States, answer_by, sends};
pub(crate) use report::{Others, RankState};
pub(crate) use text::parse;
pub(crate) use watchdog::{is_watchdog, stop, watch};

/// The effect of a time limit on an operation. From
/// [`Builder::on_time_limit`](crate::Builder::on_time_limit) or `RANKS_TIMEOUT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnTimeLimit {
    /// The operation is an error of kind [`TimedOut`](crate::ErrorKind::TimedOut), and the program
    /// may go on. Where the library cannot leave an operation (it makes communicators, say, fences
    /// a window, sends or receives a view of memory, or a blocking receive has matched a long
    /// message), the job is aborted. `RANKS_TIMEOUT=3s,error`, and the default.
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

/// The longest limit at which an operation over MPI has timed out.
static PASSED: Mutex<Option<Limit>> = Mutex::new(None);

thread_local! {
    /// The limit that `within` has set for this thread: the innermost.
    static OF_CALLS: Cell<Option<Limit>> = const { Cell::new(None) };
}

/// The limit that this thread has set for its calls.
pub(crate) fn of_calls() -> Option<Limit> {
    OF_CALLS.get()
}

/// Sets the limit of this thread's calls, until what is returned is dropped.
pub(crate) fn set_of_calls(limit: Limit) -> impl Drop {
    OfCalls {
        before: OF_CALLS.replace(Some(limit)),
        _hold: Hold::new(),
    }
}

struct OfCalls {
    before: Option<Limit>,
    _hold: Hold,
}

impl Drop for OfCalls {
    fn drop(&mut self) {
        OF_CALLS.set(self.before);
    }
}

/// The exit status of a process whose job is aborted at a time limit.
const STATUS: i32 = 1;

/// Notes that an operation over MPI has timed out.
fn has_passed(limit: Limit) {
    let mut passed = lock(&PASSED);
    if passed.is_none_or(|before| before.duration < limit.duration) {
        *passed = Some(limit);
    }
}

/// The longest limit at which an operation over MPI has timed out, if one has.
pub(crate) fn longest_passed() -> Option<Limit> {
    *lock(&PASSED)
}

/// A communicator's own limit.
#[derive(Debug, Default)]
pub(crate) struct OwnLimit(Mutex<Option<(Limit, Hold)>>);

impl OwnLimit {
    pub(crate) fn set(&self, limit: Option<Duration>) {
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
