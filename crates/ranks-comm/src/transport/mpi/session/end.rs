//! The end of MPI: first pending operations, then objects that ranks share, then the library.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ranks_mpi_sys as sys;

use super::start::finalized;
use super::{STATE, Session, SessionState, Waiting, lock};
use crate::call::inflight_calls::Held;
use crate::call::last_words::last_words;
use crate::call::limit::{self, Limit};
use crate::call::record::dump::{self, Reason};
use crate::call::thread_guard::THREAD_GUARD;
use crate::call::thread_level::ThreadLevel;
use crate::result::Result;
use crate::transport::facts::Facts;
use crate::transport::mpi::error::check;
use crate::transport::mpi::{fault_tolerance, over_hosts, progress, query_ranks, unreceived};

/// The time that `MPI_Finalize` has at least, where a time limit is set.
const LONG: Duration = Duration::from_secs(10);

impl Session {
    /// Gathers the observations. Called by all ranks, once; a failure affects nothing else.
    pub(in crate::transport::mpi) fn end_observing(&self, limit: Option<Limit>) {
        let gathering = lock(&self.gathering).take();
        if let Some(Err(error)) = gathering.map(|gathering| gathering.close(limit)) {
            eprintln!("ranks: not all that was observed could be brought together: {error}");
        }
    }

    /// The time that observations may take to come together at the end: the limit of the job, or
    /// else the longest limit at which an operation has timed out. It is no limit of the end
    /// itself: others may come to that much later than a call of this rank may wait.
    pub(in crate::transport::mpi) fn limit_of_observing(&self) -> Option<Limit> {
        self.limit.or_else(limit::longest_passed)
    }

    /// Ends MPI once, and returns the outcome.
    pub(in crate::transport::mpi) fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        progress::stop();
        if !self.owner && finalized()? {
            self.is_too_late();
            return Ok(());
        }
        if thread::panicking() && self.facts.size > 1 && self.owner {
            let Facts { rank, size, .. } = *self.facts;
            dump::write(Reason::Panic, None, None);
            last_words(format_args!(
                "rank {rank} of {size} panicked; the job is aborted"
            ));
            // SAFETY: MPI is alive until the end of this function.
            unsafe { limit::abort(sys::MPI_COMM_WORLD, 101) };
        }
        let level = self.facts.thread_level;
        let may_call = level == ThreadLevel::Multiple || THREAD_GUARD.is_main();
        let limit = self.limit;
        let patience = limit.map_or(Duration::MAX, |limit| limit.duration);
        // Before the state is locked: an operation that completes may use it to find out a length.
        let settled = if may_call {
            self.last_call(limit).and_then(|alike| {
                unreceived::tell_of_receives(&self.detached);
                self.send_what_is_buffered(patience)?;
                self.detached.settle(patience)?;
                self.all_come(limit).map(|()| alike)
            })
        } else {
            Ok(Ok(()))
        };
        query_ranks::close();
        // All ranks have come by now, so that what follows takes as long as the library needs.
        let held = limit.map(|limit| {
            let duration = limit.duration.max(LONG);
            self.ending(Some(Limit { duration, ..limit }))
        });
        if may_call && settled.is_ok() {
            self.end_observing(self.limit_of_observing());
        } else if let Some(gathering) = lock(&self.gathering).take() {
            gathering.close_alone();
        }
        let mut state = lock(&STATE);
        if self.owner {
            *state = SessionState::Ended;
        } else {
            *state = SessionState::NotStarted;
        }
        // A failure below sets them back too.
        let handlers = std::mem::take(&mut self.handlers);
        if !may_call {
            THREAD_GUARD.close();
            std::mem::forget(handlers);
            let not_done = if self.owner {
                "MPI_Finalize was not called"
            } else {
                "nothing was freed, and no error handler was set back"
            };
            eprintln!(
                "ranks: {not_done}, because the last handle went on another thread than the one that initialised, and \
                 the thread level is {level}{}",
                self.detached.kept_for_ever()
            );
            return Ok(());
        }
        let mut outcome = match settled {
            Ok(alike) => alike,
            Err(error) => {
                THREAD_GUARD.close();
                return Err(error);
            }
        };
        let nobody_is_lost = fault_tolerance::nobody_is_lost(self.owner);
        if nobody_is_lost {
            if self.owner {
                unreceived::tell(sys::MPI_COMM_WORLD);
            }
            let waiting = lock(&self.deferred).take_all();
            outcome = waiting
                .into_iter()
                .map(Waiting::free)
                .fold(outcome, Result::and);
        } else {
            // Freeing may wait for a rank that has failed.
            std::mem::forget(lock(&self.deferred).take_all());
        }
        outcome = outcome.and(self.datatypes.free()).and(self.packed.free());
        drop(handlers);
        THREAD_GUARD.close();
        if self.owner && nobody_is_lost {
            outcome = outcome.and(over_hosts::quiesce());
            // SAFETY: we have initialised, this is the last handle, and the thread may.
            let code = unsafe { sys::MPI_Finalize() };
            outcome = outcome.and(check(code, "MPI_Finalize"));
        }
        drop(held);
        limit::stop();
        outcome
    }

    /// Leaves all that is left, since the library takes no call any more: who has initialised it
    /// has finalized it.
    #[cold]
    fn is_too_late(&mut self) {
        THREAD_GUARD.close();
        query_ranks::close();
        if let Some(gathering) = lock(&self.gathering).take() {
            gathering.close_alone();
        }
        *lock(&STATE) = SessionState::Ended;
        std::mem::forget(std::mem::take(&mut self.handlers));
        std::mem::forget(lock(&self.deferred).take_all());
        eprintln!(
            "ranks: nothing was freed, because another part of the program has called MPI_Finalize while handles of the \
             runtime lived{}; drop all of them before",
            self.detached.kept_for_ever()
        );
        limit::stop();
    }

    /// The entry of the end of this rank among the calls in flight.
    pub(super) fn ending(&self, limit: Option<Limit>) -> Held {
        Held::at_the_end("MPI_Finalize", Arc::clone(&self.world_recorder), limit)
    }

    /// Waits until all ranks are about to end, where a time limit is set for the job.
    fn all_come(&self, limit: Option<Limit>) -> Result<()> {
        let Some(limit) = limit else {
            return Ok(());
        };
        if fault_tolerance::is_on() {
            // Those that have failed come no more, and the others are asked about them below.
            return Ok(());
        }
        let held = self.ending(Some(limit));
        query_ranks::all_come(limit.duration, || held.is_late())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("ranks: {error}");
        }
    }
}
