//! The pending operations of a scope: waiting for them and giving them up.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use crate::call::inflight_calls::CallInFlight;
use crate::call::last_words::last_words;
use crate::call::limit::{self, Pause};
use crate::call::record::{self, Call, Class};
use crate::communicator::Communicator;
use crate::op::mpi::batch::{Batch, Rooms};
use crate::result::{Error, ErrorKind, Result, Status};
use crate::transport::mpi::ThreadFastPaths;
use crate::transport::pending_op::PendingOp;

/// The call site of waiting for all operations of a scope.
const WAITALL: &record::Kind = &record::Kind::of(Class::Message, "MPI_Waitall");

/// The time for which a scope that unwinds waits for operations that cannot be cancelled, before it
/// aborts the job.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time for a scope in which an operation has timed out.
const LAST_CHANCE: Duration = Duration::from_millis(300);

/// The pending operations of a scope.
pub(super) struct Inner<'a> {
    pub(super) comm: &'a Communicator,
    /// A scope stays on its thread.
    pub(super) lanes: ThreadFastPaths<'a>,
    /// Small operations over MPI, whose native requests lie side by side.
    pub(super) batch: Batch<'a>,
    /// All others, by number; `None` where one is complete.
    others: RefCell<Vec<Option<PendingOp>>>,
    finished: Cell<bool>,
    /// `true` while an operation may have been started that is not kept here yet.
    beginning: Cell<bool>,
    /// `true` if one of them has timed out.
    late: Cell<bool>,
    /// The first failure that no call has returned.
    failed: Cell<Option<Error>>,
}

/// The place where an operation is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Batch(u32),
    Other(usize),
}

impl<'a> Inner<'a> {
    #[inline]
    pub(super) fn new(comm: &'a Communicator, rooms: &'a Rooms) -> Self {
        Self {
            comm,
            lanes: comm.lanes(),
            batch: Batch::new(comm, rooms),
            others: RefCell::new(Vec::new()),
            finished: Cell::new(false),
            beginning: Cell::new(false),
            late: Cell::new(false),
            failed: Cell::new(None),
        }
    }

    /// Starts an operation and keeps it. If `begin` unwinds, it may have started one, and the scope
    /// counts as busy from then on.
    pub(super) fn begin(&self, begin: impl FnOnce() -> Result<PendingOp>) -> Result<Place> {
        self.beginning.set(true);
        let begun = begin().map(|flight| self.keep(flight));
        self.beginning.set(false);
        begun
    }

    /// Records the failure of an operation, which only the end of the scope can report.
    #[cold]
    pub(super) fn fails(&self, error: Error) {
        let first = self.failed.take();
        self.failed.set(Some(first.unwrap_or(error)));
    }

    fn keep(&self, flight: PendingOp) -> Place {
        let mut others = self.others.borrow_mut();
        let free = others.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            others.push(None);
            others.len() - 1
        });
        others[index] = Some(flight);
        Place::Other(index)
    }

    /// Tests the operation at `place`; its outcome, if it is complete.
    pub(super) fn test(&self, place: Place) -> Result<Option<Result<Status>>> {
        match place {
            Place::Batch(index) => {
                let _entered = self.comm.enter(record::TEST)?;
                Ok(self.batch.test(self.comm, index))
            }
            Place::Other(index) => {
                let mut others = self.others.borrow_mut();
                let Some(flight) = others.get_mut(index).and_then(Option::as_mut) else {
                    return Ok(Some(Ok(Status::null())));
                };
                if !flight.test(self.comm)? {
                    return Ok(None);
                }
                let outcome = flight.take().map(|landed| landed.status);
                others[index] = None;
                Ok(Some(outcome))
            }
        }
    }

    /// Returns an error if the operation has been waited for since `waiting`, and not all ranks
    /// have come to it within the limit of comparisons.
    pub(super) fn is_in_time(&self, place: Place, waiting: Instant) -> Result<()> {
        let Place::Other(index) = place else {
            return Ok(());
        };
        let others = self.others.borrow();
        let flight = others.get(index).and_then(Option::as_ref);
        let in_time = flight.map_or(Ok(()), |flight| flight.is_in_time(self.comm, waiting));
        self.late.set(self.late.get() || in_time.is_err());
        in_time
    }

    pub(super) fn wait(&self, place: Place) -> Result<Status> {
        match place {
            Place::Batch(index) => {
                let _entered = self.comm.enter(record::WAIT)?;
                match limit::may_end() {
                    Some(under_way) => {
                        let ended = under_way.look(|| Ok(self.batch.test(self.comm, index)));
                        self.late.set(ended.is_err());
                        ended?
                    }
                    None => self.batch.wait(self.comm, index),
                }
            }
            Place::Other(index) => {
                let mut others = self.others.borrow_mut();
                let Some(flight) = others.get_mut(index).and_then(Option::as_mut) else {
                    return Ok(Status::null());
                };
                if let Err(error) = flight.wait(self.comm) {
                    self.late.set(error.kind() == ErrorKind::TimedOut);
                    return Err(error);
                }
                let outcome = flight.take().map(|landed| landed.status);
                others[index] = None;
                outcome
            }
        }
    }

    /// Waits for all operations; returns the first error.
    #[inline]
    pub(super) fn finish(&self) -> Result<()> {
        let mut outcome = if self.batch.is_empty() {
            Ok(())
        } else {
            self.finish_batch()
        };
        if !self.others.borrow().is_empty() {
            let rest = self.finish_others();
            outcome = outcome.and(rest);
        }
        // Operations left after an error (a forbidden thread, say) are given up by `drop`.
        self.finished.set(outcome.is_ok() || self.is_idle());
        match self.failed.take() {
            None => outcome,
            Some(failed) => Err(failed),
        }
    }

    #[inline]
    fn finish_batch(&self) -> Result<()> {
        match self.comm.fast_path(1) {
            Some(comm) => {
                let comm = self.comm.recorded(comm, Call::of(WAITALL));
                self.batch.wait_all(comm)
            }
            None => {
                let _entered = self.comm.enter(WAITALL)?;
                match limit::may_end() {
                    Some(under_way) => self.finish_batch_in_time(&under_way),
                    None => self.batch.wait_all_of(self.comm),
                }
            }
        }
    }

    /// Waits for the batch under a time limit that was set while it was pending.
    #[cold]
    fn finish_batch_in_time(&self, under_way: &CallInFlight) -> Result<()> {
        let mut outcome = Ok(());
        let waited = under_way.look(|| {
            let ended = self.batch.test_each(self.comm);
            outcome = std::mem::replace(&mut outcome, Ok(())).and(ended);
            Ok(self.batch.is_empty().then_some(()))
        });
        self.late.set(waited.is_err());
        waited.and(outcome)
    }

    #[cold]
    #[inline(never)]
    fn finish_others(&self) -> Result<()> {
        let mut outcome = Ok(());
        let count = self.others.borrow().len();
        for index in 0..count {
            if self.late.get() {
                // The operations that are left are given up, see `drop`.
                break;
            }
            let waited = self.wait(Place::Other(index)).map(drop);
            outcome = outcome.and(waited);
        }
        outcome
    }

    /// The names of the pending operations.
    fn left(&self) -> String {
        let others = self.others.borrow();
        let others = others.iter().flatten().map(PendingOp::operation);
        let beginning = self.beginning.get().then_some("one that was being begun");
        let names = self.batch.operations().chain(others).chain(beginning);
        let names: Vec<_> = names.collect();
        names.join(", ")
    }

    fn is_idle(&self) -> bool {
        let others = self.others.borrow();
        self.batch.is_empty() && others.iter().all(Option::is_none) && !self.beginning.get()
    }

    /// Cancels receives after an error: their messages may never come.
    #[cold]
    #[inline(never)]
    pub(super) fn cancel_receives(&self) {
        if self.is_idle() {
            return;
        }
        if let Ok(_entered) = self.comm.enter("MPI_Cancel") {
            self.batch.cancel_all();
            for flight in self.others.borrow_mut().iter_mut().flatten() {
                // An operation that cannot be cancelled is waited for.
                let _ = flight.cancel(self.comm);
            }
        }
    }

    /// Cancels the receives that have no message. The caller has entered the library.
    #[cold]
    fn cancel(&self) {
        self.batch.cancel_all();
        for flight in self.others.borrow_mut().iter_mut().flatten() {
            flight.give_up(self.comm);
        }
    }

    /// Drops the operations among threads: only the rank that asks touches their memory.
    #[cold]
    fn leave_those_among_threads(&self) {
        for place in self.others.borrow_mut().iter_mut() {
            if place.as_ref().is_some_and(PendingOp::is_among_threads) {
                *place = None;
            }
        }
    }

    /// Ends everything as fast as possible; cannot fail.
    #[cold]
    fn give_up(&self) {
        let patience = if self.late.get() {
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
                self.batch.test_all();
                for place in self.others.borrow_mut().iter_mut() {
                    if place
                        .as_mut()
                        .is_some_and(|flight| flight.is_settled(self.comm))
                    {
                        *place = None;
                    }
                }
            }
            if self.is_idle() {
                return;
            }
            if Instant::now() >= end {
                self.leave_those_among_threads();
                if self.is_idle() {
                    return;
                }
                let why = if self.late.get() {
                    "has come to its time limit"
                } else {
                    "was left by a panic"
                };
                last_words(format_args!(
                    "a scope {why}, and an operation on its borrowed memory ({}) has not ended within {patience:?}; the \
                     job is aborted, because that memory cannot be given back",
                    self.left()
                ));
                self.comm.abort(101);
            }
            pause.rest();
        }
    }
}

impl Drop for Inner<'_> {
    fn drop(&mut self) {
        if !self.finished.get() && !self.is_idle() {
            self.give_up();
        }
    }
}
