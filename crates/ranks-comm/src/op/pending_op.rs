//! Completion of pending operations: tests, waits, cancellation, and operations that nobody waits
//! for.

use std::time::{Duration, Instant};

use crate::call::callback;
use crate::call::limit::{self, Pause};
use crate::call::record;
use crate::communicator::Communicator;
use crate::data::in_flight::KeepAlive;
use crate::data::raw_slice::OpInfo;
use crate::result::{Error, ErrorKind, Result, Status};
use crate::transport::backend::{Backend, StartedOp};
use crate::transport::completion::Completion;
use crate::transport::in_process;
use crate::transport::pending_op::{Deferred, PendingOp};

impl PendingOp {
    /// An operation that a sibling crate has started.
    pub(crate) fn begun(comm: &Communicator, role: &'static OpInfo, begun: StartedOp) -> Self {
        match (begun, comm.backend()) {
            (StartedOp::Mpi(cell), Backend::Mpi(comm)) => comm.native(cell, role, 0),
            (StartedOp::MpiKeeping(cell, keep), Backend::Mpi(comm)) => {
                comm.native_keeping(cell, role, keep)
            }
            (StartedOp::InProcess(deferred), _) => Self::Deferred(role.operation, deferred),
            (StartedOp::Both(both), _) => Self::Pair(role.operation, Self::both(comm, role, *both)),
            (StartedOp::Compared(both), _) => {
                Self::Compared(role.operation, Self::both(comm, role, *both))
            }
            (StartedOp::Failed(error), _) => Self::Over(Err(error)),
            (StartedOp::Mpi(_) | StartedOp::MpiKeeping(..) | StartedOp::Over, _) => {
                Self::over(Status::null())
            }
        }
    }

    fn both(
        comm: &Communicator,
        role: &'static OpInfo,
        (one, other): (StartedOp, StartedOp),
    ) -> Box<(Self, Self)> {
        let [one, other] = [one, other].map(|begun| Self::begun(comm, role, begun));
        Box::new((one, other))
    }

    /// Tests for completion. An error means that this thread may not ask, or that the operation is
    /// pending after the failure of a rank; the error of the operation itself is for `take`.
    pub(crate) fn test(&mut self, comm: &Communicator) -> Result<bool> {
        if self.is_over() {
            return Ok(true);
        }
        let _entered = comm.enter(record::TEST)?;
        let over = self.look(comm)?;
        self.is_refused().map(|()| over)
    }

    /// Returns an error if it can never complete, since another rank calls a different operation:
    /// it stays pending.
    fn is_refused(&self) -> Result<()> {
        let Self::Compared(_, pair) = self else {
            return Ok(());
        };
        match &pair.1 {
            Self::Over(Err(error)) if error.kind() == ErrorKind::Mismatch && !pair.0.is_over() => {
                let (operation, text) = (error.operation(), error.to_string());
                Err(Error::with_text(ErrorKind::Mismatch, operation, text))
            }
            _ => Ok(()),
        }
    }

    /// As [`test`](Self::test), for a caller that has entered the library.
    fn look(&mut self, comm: &Communicator) -> Result<bool> {
        let outcome = match self {
            Self::Over(_) | Self::Gone => return Ok(true),
            Self::Pair(_, pair) | Self::Compared(_, pair) => {
                let sent = pair.0.look(comm)?;
                return Ok(pair.1.look(comm)? && sent);
            }
            Self::Scattered(receive) => return receive.0.look(comm),
            Self::Native(native) => native.test()?.map(|outcome| outcome.map(Completion::plain)),
            Self::Claim(claim) => claim.test(),
            Self::InProcess(flight) => match own(comm) {
                Ok(comm) => flight.test(comm),
                Err(error) => Some(Err(error)),
            },
            Self::Deferred(_, deferred) => advance(deferred.as_mut(), comm, false),
        };
        let over = outcome.map(|outcome| *self = Self::Over(outcome));
        Ok(over.is_some())
    }

    /// Waits for completion; errors as for [`test`](Self::test), or that it has timed out: it is
    /// still pending then.
    pub(crate) fn wait(&mut self, comm: &Communicator) -> Result<()> {
        if !self.is_over() {
            let _entered = comm.enter(record::WAIT)?;
            let may_end = limit::may_end();
            if may_end.is_none() {
                self.is_compared(comm)?;
            }
            if let Some(under_way) = &may_end {
                under_way.is_end_of(self.operation());
            }
            match may_end {
                Some(under_way) if self.is_with_library() => {
                    under_way.look(|| {
                        let over = self.look(comm)?;
                        self.is_refused().map(|()| over.then_some(()))
                    })?;
                }
                _ => self.finish(comm)?,
            }
        }
        self.is_refused()
    }

    /// Waits until all ranks have compared their calls, where that has a limit.
    fn is_compared(&mut self, comm: &Communicator) -> Result<()> {
        if !self.is_being_compared() || comm.check_limit() == Duration::MAX {
            return Ok(());
        }
        let begun = Instant::now();
        let mut pause = Pause::default();
        while !self.look(comm)? && self.is_being_compared() {
            self.is_in_time(comm, begun)?;
            pause.rest();
        }
        self.is_refused()
    }

    /// Returns `true` while not all ranks have sent their calls.
    fn is_being_compared(&self) -> bool {
        matches!(self, Self::Compared(_, pair) if !pair.1.is_over())
    }

    /// Returns `true` if it has been waited for since `waiting`, and not all ranks have come within
    /// the limit of comparisons.
    pub(crate) fn is_overdue(&self, comm: &Communicator, waiting: Instant) -> bool {
        self.is_being_compared() && waiting.elapsed() >= comm.check_limit()
    }

    /// Returns an error if [it is overdue](Self::is_overdue).
    pub(crate) fn is_in_time(&self, comm: &Communicator, waiting: Instant) -> Result<()> {
        if self.is_overdue(comm, waiting) {
            return Err(comm.not_all_came(self.operation()));
        }
        Ok(())
    }

    /// Returns `true` if the wait is in the library; a wait among threads times out by itself.
    fn is_with_library(&self) -> bool {
        match self {
            Self::Native(_) | Self::Claim(_) => true,
            Self::Pair(_, pair) | Self::Compared(_, pair) => {
                pair.0.is_with_library() || pair.1.is_with_library()
            }
            Self::Scattered(receive) => receive.0.is_with_library(),
            Self::Over(_) | Self::Gone | Self::InProcess(_) | Self::Deferred(..) => false,
        }
    }

    /// As [`wait`](Self::wait); a receive that is still pending after an error is cancelled.
    pub(crate) fn wait_or_cancel(&mut self, comm: &Communicator) -> Result<()> {
        match self.wait(comm) {
            Err(late) => self.cancel_late(comm, late),
            Ok(()) => Ok(()),
        }
    }

    /// Cancels a receive that has not ended before that error, which is its outcome then, unless
    /// its message has come meanwhile. Returns the error if the operation is still pending.
    pub(crate) fn cancel_late(&mut self, comm: &Communicator, late: Error) -> Result<()> {
        /// The time that a library has to cancel a receive.
        const PATIENCE: Duration = Duration::from_millis(100);
        if !self.receives() {
            return Err(late);
        }
        self.cancel(comm)?;
        if !self.wait_timeout(comm, PATIENCE)? {
            return Err(late);
        }
        // A message may have arrived meanwhile.
        if self.is_cancelled() {
            *self = Self::Over(Err(late));
        }
        Ok(())
    }

    /// Returns `true` if it is a receive, or has one, that can be cancelled.
    fn receives(&self) -> bool {
        match self {
            Self::Native(native) => native.receives(),
            Self::Claim(_) | Self::InProcess(_) => true,
            Self::Pair(_, pair) => pair.1.receives(),
            Self::Scattered(receive) => receive.0.receives(),
            Self::Over(_) | Self::Gone | Self::Deferred(..) | Self::Compared(..) => false,
        }
    }

    /// Returns `true` if it has ended without a message.
    fn is_cancelled(&self) -> bool {
        match self {
            Self::Over(Ok(landed)) => landed.status.is_cancelled(),
            Self::Pair(_, pair) | Self::Compared(_, pair) => pair.1.is_cancelled(),
            Self::Scattered(receive) => receive.0.is_cancelled(),
            _ => false,
        }
    }

    /// Waits for completion, for a caller that has entered the library.
    fn finish(&mut self, comm: &Communicator) -> Result<()> {
        let outcome = match self {
            Self::Over(_) | Self::Gone => return Ok(()),
            Self::Pair(_, pair) | Self::Compared(_, pair) => {
                pair.1.finish(comm)?;
                if self.is_refused().is_ok()
                    && let Self::Pair(_, pair) | Self::Compared(_, pair) = self
                {
                    pair.0.finish(comm)?;
                }
                return Ok(());
            }
            Self::Scattered(receive) => return receive.0.finish(comm),
            Self::Native(native) => native.wait()?.map(Completion::plain),
            Self::Claim(claim) => claim.wait(),
            Self::InProcess(flight) => own(comm).and_then(|comm| flight.wait(comm)),
            Self::Deferred(_, deferred) => match advance(deferred.as_mut(), comm, true) {
                Some(outcome) => outcome,
                None => return Ok(()),
            },
        };
        *self = Self::Over(outcome);
        Ok(())
    }

    /// Waits up to `limit`; returns `true` if it is complete.
    pub(crate) fn wait_timeout(&mut self, comm: &Communicator, limit: Duration) -> Result<bool> {
        Pause::until(limit, &mut || self.test(comm))
    }

    /// Returns `true` if it was a receive among threads whose message has arrived and fits, and is
    /// there now. If it does not fit, this is over.
    pub(crate) fn lands(&mut self, arrived: &mut in_process::Arrived<'_>) -> bool {
        let Self::InProcess(flight) = self else {
            return false;
        };
        match flight.land(arrived) {
            Some(Ok(_)) => return true,
            Some(Err(error)) => *self = Self::Over(Err(error)),
            None => {}
        }
        false
    }

    /// Cancels a receive that has no message yet.
    pub(crate) fn cancel(&mut self, comm: &Communicator) -> Result<()> {
        match self {
            Self::Over(_) | Self::Gone => Ok(()),
            // MPI 5.0 §6.12 forbids to cancel a collective.
            Self::Deferred(..) | Self::Compared(..) => Ok(()),
            Self::Pair(_, pair) => pair.1.cancel(comm),
            Self::Scattered(receive) => receive.0.cancel(comm),
            Self::Native(native) => {
                let _entered = comm.enter("MPI_Cancel")?;
                native.cancel()
            }
            Self::Claim(_) | Self::InProcess(_) => {
                let _entered = comm.enter("MPI_Cancel")?;
                let is_cancelled = match self {
                    Self::Claim(claim) => claim.cancel(),
                    Self::InProcess(flight) => own(comm).is_ok_and(|comm| flight.cancel(comm)),
                    _ => false,
                };
                if is_cancelled {
                    *self = Self::over(Status::cancelled());
                }
                Ok(())
            }
        }
    }

    /// As [`cancel`](Self::cancel), for a scope that cannot wait for long; the caller has entered,
    /// if only to end.
    pub(crate) fn give_up(&mut self, comm: &Communicator) {
        match self {
            Self::Over(_) | Self::Gone | Self::Deferred(..) => {}
            Self::Pair(_, pair) | Self::Compared(_, pair) => {
                pair.0.give_up(comm);
                pair.1.give_up(comm);
            }
            Self::Scattered(receive) => receive.0.give_up(comm),
            Self::Native(native) => {
                // An operation that cannot be cancelled is tested until it is complete.
                let _ = native.cancel();
            }
            Self::Claim(claim) => {
                if claim.cancel() {
                    *self = Self::over(Status::cancelled());
                }
            }
            // Only the rank that asks touches its memory, so that it is complete as soon as none
            // asks.
            Self::InProcess(flight) => {
                let outcome = own(comm).map(|comm| {
                    if flight.cancel(comm) {
                        return Some(Ok(Completion::plain(Status::cancelled())));
                    }
                    let outcome = flight.test(comm);
                    if outcome.is_none() {
                        flight.abandon(comm);
                    }
                    outcome
                });
                *self = match outcome {
                    Ok(None) => Self::Gone,
                    Ok(Some(outcome)) => Self::Over(outcome),
                    Err(error) => Self::Over(Err(error)),
                };
            }
        }
    }

    /// Returns `true` if it is complete and its memory free; the caller has entered, if only to
    /// end. A forbidden thread or the requested end of the runtime is no error here: while there is
    /// a communicator, MPI lives.
    pub(crate) fn is_settled(&mut self, comm: &Communicator) -> bool {
        match self {
            Self::InProcess(_) => true,
            Self::Pair(_, pair) | Self::Compared(_, pair) => {
                let sent = pair.0.is_settled(comm);
                pair.1.is_settled(comm) && sent
            }
            Self::Scattered(receive) => receive.0.is_settled(comm),
            _ => self.look(comm).unwrap_or(false),
        }
    }

    /// Returns `true` if only the rank that asks for it touches its memory.
    pub(crate) fn is_among_threads(&self) -> bool {
        match self {
            Self::Over(_) | Self::Gone | Self::InProcess(_) | Self::Deferred(..) => true,
            Self::Native(_) | Self::Claim(_) => false,
            Self::Pair(_, pair) | Self::Compared(_, pair) => {
                pair.0.is_among_threads() && pair.1.is_among_threads()
            }
            Self::Scattered(receive) => receive.0.is_among_threads(),
        }
    }

    /// Leaves it to the runtime, with the memory that it works on.
    pub(crate) fn abandon(self, comm: &Communicator, memory: KeepAlive) {
        if callback::in_callback() {
            let comm = comm.clone();
            return callback::later(move || self.abandon(&comm, memory));
        }
        match (self, comm.backend()) {
            (Self::Native(native), Backend::Mpi(comm)) => {
                comm.session.adopt(comm.canonical, native, memory);
            }
            // It belongs to another runtime: its memory is leaked.
            (Self::Native(_), Backend::InProcess(_)) => {}
            (Self::Claim(claim), _) => claim.abandon(memory),
            (Self::Pair(_, pair) | Self::Compared(_, pair), _) => {
                let [of_one, of_other] = memory.for_both();
                pair.0.abandon(comm, of_one);
                pair.1.abandon(comm, of_other);
            }
            // Its message goes to memory of its own.
            (Self::Scattered(receive), _) => receive.0.abandon(comm, memory),
            (mut rest, _) => {
                // Among threads only the rank that asks touches memory.
                if let (Self::InProcess(flight), Ok(comm)) = (&mut rest, own(comm)) {
                    flight.abandon(comm);
                }
                if let Some(over) = Self::Gone.ended() {
                    memory.free(over);
                }
            }
        }
    }
}

/// The communicator of a message among threads.
fn own(comm: &Communicator) -> Result<&in_process::Comm> {
    match comm.backend() {
        Backend::InProcess(comm) => Ok(comm),
        Backend::Mpi(_) => Err(Error::new(
            ErrorKind::Argument,
            "MPI_Wait",
            "the request belongs to another runtime",
        )),
    }
}

fn advance(
    deferred: &mut dyn Deferred,
    comm: &Communicator,
    wait: bool,
) -> Option<Result<Completion>> {
    let Backend::InProcess(comm) = comm.backend() else {
        return Some(Ok(Completion::plain(Status::null())));
    };
    match deferred.advance(comm, wait) {
        Ok(false) => None,
        Ok(true) => Some(Ok(Completion::plain(Status::null()))),
        Err(error) => Some(Err(error)),
    }
}
