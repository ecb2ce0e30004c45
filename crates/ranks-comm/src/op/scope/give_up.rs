//! Giving up the pending operations of a scope that has failed, unwinds, or has timed out.

use std::time::{Duration, Instant};

use super::inner::Inner;
use crate::call::last_words::{MEMORY_IN_FLIGHT, last_words};
use crate::call::limit::Pause;
use crate::op::mpi::batch::Batch;
use crate::transport::pending_op::PendingOp;

/// The time after which a scope that unwinds aborts the job, if an operation cannot be cancelled.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time for a scope in which an operation cannot end in time.
const LAST_CHANCE: Duration = Duration::from_millis(300);

impl Inner<'_> {
    /// Cancels receives after an error: their messages may never come.
    #[cold]
    #[inline(never)]
    pub(super) fn cancel_receives(&self) {
        if self.is_idle() {
            return;
        }
        if let Ok(_entered) = self.comm.enter("MPI_Cancel") {
            self.cancel_batches();
            self.retain_others(|flight| {
                // An operation that cannot be cancelled is waited for.
                let _ = flight.cancel(self.comm);
                true
            });
        }
    }

    /// Cancels the receives that have no message. The caller has entered the library.
    #[cold]
    fn cancel(&self) {
        self.cancel_batches();
        self.retain_others(|flight| {
            flight.give_up(self.comm);
            true
        });
    }

    fn cancel_batches(&self) {
        self.batch.cancel_all();
        if let Some(rest) = self.rest.get() {
            rest.batches.all().iter().for_each(Batch::cancel_all);
        }
    }

    /// Tests all operations, and forgets those that are complete. The caller has entered the
    /// library, if only to end.
    #[cold]
    fn test_all(&self) {
        self.batch.test_all();
        if let Some(rest) = self.rest.get() {
            rest.batches.all().iter().for_each(Batch::test_all);
        }
        self.retain_others(|flight| !flight.is_settled(self.comm));
    }

    /// Drops the operations among threads: only the rank that asks touches their memory.
    #[cold]
    fn leave_those_among_threads(&self) {
        self.retain_others(|flight| !flight.is_among_threads());
    }

    /// Calls `keeps` with each operation outside of the batches, and drops those that it does not
    /// keep.
    fn retain_others(&self, mut keeps: impl FnMut(&mut PendingOp) -> bool) {
        if let Some(rest) = self.rest.get() {
            let mut others = rest.others.borrow_mut();
            others.retain(|_, flight| keeps(flight));
        }
    }

    /// Gives up what is pending, and drops what was kept apart from the first batch.
    #[cold]
    pub(super) fn end(&mut self) {
        if !self.is_idle() {
            self.give_up();
        }
        drop(self.rest.take());
    }

    /// Ends everything as fast as possible; cannot fail.
    #[cold]
    fn give_up(&self) {
        let patience = if self.is_late() {
            LAST_CHANCE
        } else {
            PATIENCE
        };
        let end = Instant::now() + patience;
        let mut pause = Pause::default();
        let mut cancelled = false;
        loop {
            // While another thread is inside at `MPI_THREAD_SERIALIZED`, it is its turn.
            if let Some(_entered) = self.comm.enter_to_end("MPI_Test") {
                if !std::mem::replace(&mut cancelled, true) {
                    self.cancel();
                }
                self.test_all();
            }
            if self.is_idle() {
                return;
            }
            if Instant::now() >= end {
                self.leave_those_among_threads();
                if self.is_idle() {
                    return;
                }
                let why = if self.is_late() {
                    "has come to its time limit, or its ranks call different operations"
                } else {
                    "was left by an error or a panic"
                };
                last_words(format_args!(
                    "a scope {why}, and an operation on its borrowed memory ({}) has not ended within {patience:?}; the \
                     job is aborted, because that memory cannot be given back",
                    self.left()
                ));
                self.comm.abort(MEMORY_IN_FLIGHT);
            }
            pause.rest();
        }
    }
}
