//! The pending operations of a scope, and waiting for them.

use std::cell::{OnceCell, RefCell};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::time::Instant;

use slab::Slab;

use super::batches::Batches;
use super::rest::Rest;
use crate::call::hold;
use crate::call::inflight_calls::CallInFlight;
use crate::call::limit;
use crate::call::record::{self, Call, Class};
use crate::communicator::Communicator;
use crate::data::raw_slice::OpInfo;
use crate::op::mpi::batch::{Batch, Rooms};
use crate::result::{Error, ErrorKind, Result, Status};
use crate::transport::backend::{Backend, StartedOp};
use crate::transport::pending_op::PendingOp;

/// The call site of waiting for all operations of a scope.
const WAITALL: &record::Kind = &record::Kind::of(Class::Message, "MPI_Waitall");

/// The pending operations of a scope.
pub(super) struct Inner<'a> {
    pub(super) comm: &'a Communicator,
    /// Small operations over MPI, whose native requests lie side by side.
    pub(super) batch: Batch<&'a Rooms>,
    /// The state that few scopes have; taken when the scope ends.
    pub(super) rest: ManuallyDrop<OnceCell<Box<Rest>>>,
}

/// The start of an operation, forgotten when it has returned.
struct Beginning<'s, 'a>(&'s Inner<'a>);

impl Drop for Beginning<'_, '_> {
    #[cold]
    fn drop(&mut self) {
        self.0.rest().unwound.set(true);
    }
}

/// The place where an operation is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestSlot {
    Batch(u32),
    Batches(usize),
    Other(usize),
    /// None: it was complete when it had begun, without a message.
    Over,
}

impl<'a> Inner<'a> {
    #[inline]
    pub(super) fn new(comm: &'a Communicator, rooms: &'a Rooms) -> Self {
        Self {
            comm,
            batch: Batch::new(comm, rooms),
            rest: ManuallyDrop::new(OnceCell::new()),
        }
    }

    fn rest(&self) -> &Rest {
        self.rest.get_or_init(Box::default)
    }

    /// Starts an operation and keeps it. If `begin` unwinds, it may have started one, and the scope
    /// counts as busy from then on.
    pub(super) fn begin(&self, begin: impl FnOnce() -> Result<PendingOp>) -> Result<RequestSlot> {
        self.begin_by(begin, |flight| self.keep(flight))
    }

    /// As [`begin`](Self::begin), for an operation of a sibling crate: one that is a request of the
    /// library and nothing else is kept among those of messages.
    #[inline(always)]
    pub(super) fn begin_other(
        &self,
        role: &'static OpInfo,
        begin: impl FnOnce() -> Result<StartedOp>,
    ) -> Result<RequestSlot> {
        self.begin_by(begin, |begun| match begun {
            StartedOp::Mpi(request) => match self.batch.room() {
                Some(room) => {
                    self.batch.adopt(room, role, &request);
                    RequestSlot::Batch(room)
                }
                None => self.keep_other(role, StartedOp::Mpi(request)),
            },
            begun => self.keep_other(role, begun),
        })
    }

    #[inline(always)]
    fn begin_by<S>(
        &self,
        begin: impl FnOnce() -> Result<S>,
        keep: impl FnOnce(S) -> RequestSlot,
    ) -> Result<RequestSlot> {
        let beginning = Beginning(self);
        let begun = begin().map(keep);
        std::mem::forget(beginning);
        begun
    }

    /// Records the failure of an operation, which only the end of the scope can report.
    #[cold]
    pub(super) fn fails(&self, error: Error) {
        let failed = &self.rest().failed;
        failed.set(Some(failed.take().unwrap_or(error)));
    }

    #[cold]
    #[inline(never)]
    fn keep_other(&self, role: &'static OpInfo, begun: StartedOp) -> RequestSlot {
        self.keep(PendingOp::begun(self.comm, role, begun))
    }

    fn keep(&self, flight: PendingOp) -> RequestSlot {
        if matches!(&flight, PendingOp::Over(Ok(landed)) if landed.is_plain()) {
            return RequestSlot::Over;
        }
        RequestSlot::Other(self.rest().others.borrow_mut().insert(flight))
    }

    /// Starts a small operation over MPI beyond the first batch: `begin` does it in the free room
    /// that it gets.
    pub(super) fn begin_in_batches(
        &self,
        begin: impl FnOnce(&Batch<Box<Rooms>>, u32) -> Result<u32>,
    ) -> Result<RequestSlot> {
        let batches = &self.rest().batches;
        batches.begin(self.comm, begin).map(RequestSlot::Batches)
    }

    /// Tests the operation at `place`; its outcome, if it is complete.
    pub(super) fn test(&self, place: RequestSlot) -> Result<Option<Result<Status>>> {
        match (place, self.rest.get()) {
            (RequestSlot::Batch(room), _) => self.test_in(&self.batch, room),
            (RequestSlot::Batches(index), Some(rest)) => rest
                .batches
                .at(index, |batch, room| self.test_in(batch, room)),
            (RequestSlot::Other(index), Some(rest)) => {
                let mut others = rest.others.borrow_mut();
                let Some(flight) = others.get_mut(index) else {
                    return Ok(Some(Ok(Status::null())));
                };
                if !flight.test(self.comm)? {
                    return Ok(None);
                }
                let mut flight = others.remove(index);
                Ok(Some(flight.take().map(|landed| landed.status)))
            }
            (RequestSlot::Batches(_) | RequestSlot::Other(_), None) | (RequestSlot::Over, _) => {
                Ok(Some(Ok(Status::null())))
            }
        }
    }

    fn test_in(
        &self,
        batch: &Batch<impl Deref<Target = Rooms>>,
        room: u32,
    ) -> Result<Option<Result<Status>>> {
        let _entered = self.comm.enter(record::TEST)?;
        Ok(batch.test(self.comm, room))
    }

    /// Returns an error if the operation has been waited for since `waiting`, and not all ranks
    /// have come to it within the limit of comparisons.
    pub(super) fn is_in_time(&self, place: RequestSlot, waiting: Instant) -> Result<()> {
        let (RequestSlot::Other(index), Some(rest)) = (place, self.rest.get()) else {
            return Ok(());
        };
        let others = rest.others.borrow();
        let flight = others.get(index);
        let in_time = flight.map_or(Ok(()), |flight| flight.is_in_time(self.comm, waiting));
        self.is_late_if(in_time.is_err());
        in_time
    }

    pub(super) fn wait(&self, place: RequestSlot) -> Result<Status> {
        match (place, self.rest.get()) {
            (RequestSlot::Batch(room), _) => self.wait_in(&self.batch, room),
            (RequestSlot::Batches(index), Some(rest)) => rest
                .batches
                .at(index, |batch, room| self.wait_in(batch, room)),
            (RequestSlot::Other(index), Some(rest)) => {
                let mut others = rest.others.borrow_mut();
                let Some(flight) = others.get_mut(index) else {
                    return Ok(Status::null());
                };
                if let Err(error) = flight.wait(self.comm) {
                    let cannot_end = [ErrorKind::TimedOut, ErrorKind::Mismatch];
                    self.is_late_if(cannot_end.contains(&error.kind()));
                    return Err(error);
                }
                let mut flight = others.remove(index);
                flight.take().map(|landed| landed.status)
            }
            (RequestSlot::Batches(_) | RequestSlot::Other(_), None) | (RequestSlot::Over, _) => {
                Ok(Status::null())
            }
        }
    }

    fn wait_in(&self, batch: &Batch<impl Deref<Target = Rooms>>, room: u32) -> Result<Status> {
        let _entered = self.comm.enter(record::WAIT)?;
        match limit::may_end() {
            Some(under_way) => {
                let ended = under_way.look(|| Ok(batch.test(self.comm, room)));
                self.is_late_if(ended.is_err());
                ended?
            }
            None => batch.wait(self.comm, room),
        }
    }

    /// Notes that an operation cannot end in time, if so; it is pending until the scope ends.
    fn is_late_if(&self, late: bool) {
        if late {
            self.rest().late.set(true);
        }
    }

    /// Returns `true` if an operation cannot end in time.
    pub(super) fn is_late(&self) -> bool {
        self.rest.get().is_some_and(|rest| rest.late.get())
    }

    /// Waits for all operations; returns the first error. Those that are left after one (of a
    /// forbidden thread, or of a time limit) are given up by `drop`, which `true` says has nothing
    /// to do.
    #[inline(always)]
    pub(super) fn finish(&self) -> Result<bool> {
        if self.rest.get().is_none() {
            if self.batch.is_empty() {
                return Ok(true);
            }
            if let Some(comm) = self.comm.fast_path_recorded(Call::of(WAITALL)) {
                return self.batch.wait_all(comm).map(|()| true);
            }
        }
        self.finish_slow().map(|()| false)
    }

    /// Cancels the receives that have no message, and waits for all operations.
    #[cold]
    #[inline(never)]
    pub(super) fn finish_after_error(&self) {
        self.cancel_receives();
        // The error that was before is the one to be returned.
        let _ = self.finish();
    }

    #[cold]
    #[inline(never)]
    fn finish_slow(&self) -> Result<()> {
        let Some(rest) = self.rest.get() else {
            return self.finish_batches(None);
        };
        let batches = if self.batch.is_empty() && rest.batches.are_empty() {
            Ok(())
        } else {
            self.finish_batches(Some(&rest.batches))
        };
        let others = self.finish_others(&rest.others);
        match rest.failed.take() {
            None => batches.and(others),
            Some(failed) => Err(failed),
        }
    }

    /// Waits for all batches, one after the other.
    fn finish_batches(&self, batches: Option<&Batches>) -> Result<()> {
        if self.is_late() {
            return self.none_is_left();
        }
        let _entered = self.comm.enter(WAITALL)?;
        let under_way = limit::may_end();
        let mut outcome = self.finish_in(under_way.as_deref(), &self.batch);
        for batch in batches.map(Batches::all).iter().flat_map(|all| all.iter()) {
            if self.is_late() {
                break;
            }
            outcome = outcome.and(self.finish_in(under_way.as_deref(), batch));
        }
        outcome
    }

    /// Waits for a batch, under a time limit if one was set while it was pending.
    fn finish_in(
        &self,
        under_way: Option<&CallInFlight>,
        batch: &Batch<impl Deref<Target = Rooms>>,
    ) -> Result<()> {
        let Some(under_way) = under_way else {
            return batch.wait_all_of(self.comm);
        };
        let mut outcome = Ok(());
        let waited = under_way.look(|| {
            let ended = batch.test_each(self.comm);
            outcome = std::mem::replace(&mut outcome, Ok(())).and(ended);
            Ok(batch.is_empty().then_some(()))
        });
        self.is_late_if(waited.is_err());
        waited.and(outcome)
    }

    fn finish_others(&self, others: &RefCell<Slab<PendingOp>>) -> Result<()> {
        let mut outcome = Ok(());
        let left: Vec<usize> = others.borrow().iter().map(|(index, _)| index).collect();
        let mut left = left.as_slice();
        while let Some((&index, rest)) = left.split_first() {
            if self.is_late() {
                return outcome.and(self.none_is_left());
            }
            left = rest;
            let waited = self.wait(RequestSlot::Other(index)).map(drop);
            // Listed calls are waits, one for each operation.
            if waited.is_ok() && !hold::is_wanted() {
                left = &left[self.land_arrived(&mut others.borrow_mut(), left)..];
            }
            outcome = outcome.and(waited);
        }
        outcome
    }

    /// Completes the first of these operations, as far as they are receives among threads whose
    /// messages have arrived and fit, and returns their number.
    fn land_arrived(&self, others: &mut Slab<PendingOp>, of: &[usize]) -> usize {
        let Backend::InProcess(comm) = self.comm.backend() else {
            return 0;
        };
        let mut arrived = comm.arrived();
        let mut lands = |&&index: &&usize| {
            let lands = others
                .get_mut(index)
                .is_some_and(|flight| flight.lands(&mut arrived));
            if lands {
                others.remove(index);
                self.comm.recorder().messages.post(Call::of(record::WAIT));
            }
            lands
        };
        of.iter().take_while(|index| lands(index)).count()
    }

    /// The names of the pending operations.
    pub(super) fn left(&self) -> String {
        let mut names: Vec<_> = self.batch.operations().collect();
        if let Some(rest) = self.rest.get() {
            let all = rest.batches.all();
            names.extend(all.iter().flat_map(Batch::operations));
            let others = rest.others.borrow();
            names.extend(others.iter().map(|(_, flight)| flight.operation()));
            names.extend(rest.unwound.get().then_some("one that was being begun"));
        }
        names.join(", ")
    }

    /// Returns an error if operations are left that are not waited for.
    fn none_is_left(&self) -> Result<()> {
        self.is_idle().then_some(()).ok_or_else(|| {
            let left = self.left();
            let why = format_args!(
                "given up at the end of the scope ({left}), as one of its operations could not end in time, or ranks call different ones"
            );
            Error::new(ErrorKind::TimedOut, "MPI_Waitall", why)
        })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.batch.is_empty() && self.rest.get().is_none_or(|rest| rest.is_empty())
    }
}

impl Drop for Inner<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.batch.is_empty() || self.rest.get().is_some() {
            self.end();
        }
    }
}
