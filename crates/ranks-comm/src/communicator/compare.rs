//! Comparison of the collective calls of all ranks before they start, and exchanges of bytes.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Communicator;
use crate::call::call_description::{CallDescription, Groups, Joined};
use crate::call::checks::{get_text, put_text};
use crate::call::inflight_calls::{self, CallInFlight};
use crate::call::limit;
use crate::call::record::{Class, Kind, Recorder};
use crate::data::in_flight::InFlight;
use crate::data::raw_slice::OpInfo;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::{Backend, StartedOp};
use crate::transport::join::Join;
use crate::transport::mpi::{exchange, fault_tolerance};
use crate::transport::pending_op::PendingOp;

const AGREE: &str = "Communicator::agree";
/// The comparison of a nonblocking call that this rank has not begun.
static LEFT: OpInfo = OpInfo::of("the comparison of a call");

impl Communicator {
    /// Combines the results of all ranks: `Ok` if it is `Ok` everywhere; otherwise the same error
    /// on all of them, which names the first rank that failed, in rank order, and its error.
    /// Collective.
    ///
    /// For work that only one rank does, or that may fail on some, so that the others do not go on
    /// alone:
    ///
    /// ```
    /// # ranks::run(|world| {
    /// let found = if world.rank() == 0 { "12".parse::<u32>() } else { Ok(0) };
    /// let found = world.agree(found)?; // had it failed, all ranks would leave here
    /// # assert!(found == 12 || world.rank() > 0);
    /// # Ok::<(), ranks::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::PeerFailed`] if any rank passes an `Err`; its text is cut after about a
    /// thousand bytes.
    pub fn agree<T, E: Display>(&self, result: Result<T, E>) -> Result<T> {
        let failure = result.as_ref().err().map(ToString::to_string);
        self.none_fails(failure.as_deref())?;
        result.map_err(|error| Error::new(ErrorKind::PeerFailed, AGREE, error))
    }

    /// Returns the error of [`agree`](Self::agree) if this rank or another one has a failure.
    fn none_fails(&self, failure: Option<&str>) -> Result<()> {
        const KIND: &Kind = &Kind::of(Class::Collective, AGREE);
        const ROOM: usize = 1024;
        let failed = u8::from(failure.is_some());
        let _entered = self.enter(KIND)?;
        self.all_call(AGREE, Ok(()))?;
        let any = self.join_within(AGREE, &[failed.into()], Join::Or)?;
        if any == [0] {
            return Ok(());
        }
        let all = self.exchange_within(AGREE, &[failed])?;
        let ranks = all.iter().enumerate();
        let mut failed = ranks.filter(|(_, failed)| **failed != 0);
        let rank = failed.next().map_or(self.rank(), |(rank, _)| rank);
        let mut told = [0u8; ROOM];
        // The others have nothing to say.
        if let Some(failure) = failure.filter(|_| rank == self.rank()) {
            put_text(&mut told, failure);
        }
        let words: Vec<u64> = bytemuck::pod_collect_to_vec(&told);
        let words = self.join_within(AGREE, &words, Join::Or)?;
        let (text, size) = (get_text(bytemuck::must_cast_slice(&words)), self.size());
        let others = match failed.count() {
            0 => String::new(),
            more => format!(" (and so did {more} more)"),
        };
        let why = format_args!("rank {rank} of {size} failed: {text}{others}");
        Err(Error::new(ErrorKind::PeerFailed, AGREE, why))
    }

    /// Returns `true` if ranks compare their collective calls on this communicator.
    #[doc(hidden)]
    #[must_use]
    pub fn compares_calls(&self) -> bool {
        self.size() > 1
            && !self.is_between()
            && match self.backend() {
                Backend::Mpi(comm) => comm.compares,
                Backend::InProcess(comm) => comm.compares(),
            }
    }

    /// Returns `true` if the library may write past a slice in collectives whose ranks pass
    /// different lengths: such collectives are always compared, nonblocking ones too, which
    /// therefore wait for the other ranks.
    #[doc(hidden)]
    #[must_use]
    pub fn may_overrun(&self) -> bool {
        match self.backend() {
            Backend::Mpi(comm) => comm.session.receives.overrun(),
            Backend::InProcess(_) => false,
        }
    }

    fn is_out_of_step(&self) -> bool {
        self.0.out_of_step.load(Ordering::Relaxed)
    }

    fn lose_step(&self) {
        self.0.out_of_step.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// [`ErrorKind::TimedOut`] after a collective that has left the ranks out of step.
    fn must_be_in_step(&self, operation: &'static str) -> Result<()> {
        if !self.is_out_of_step() {
            return Ok(());
        }
        let why = "ranks are out of step on this communicator: at a collective before, not all of them came in time, or some began another one; end the job, and see the first error of each rank";
        Err(Error::new(ErrorKind::TimedOut, operation, why))
    }

    /// Returns an error where a nonblocking collective would not match; it waits for others only
    /// after this rank has refused one.
    #[doc(hidden)]
    pub fn comes_in_step(&self, operation: &'static str) -> Result<()> {
        let under_way = limit::may_end();
        let left = under_way.as_ref().and_then(|under_way| under_way.left());
        let left = left.unwrap_or(Duration::MAX);
        if !self.settle(left)? {
            return Err(self.too_late(operation, under_way.as_deref(), left));
        }
        self.must_be_in_step(operation)
    }

    /// Waits up to `limit` until it is known which ranks have begun the calls that this one has
    /// refused; returns `true` if it is.
    fn settle(&self, limit: Duration) -> Result<bool> {
        match self.backend() {
            Backend::Mpi(over) => over.settle(LEFT.operation(), limit.min(self.check_limit())),
            Backend::InProcess(_) => Ok(true),
        }
    }

    /// Runs the collective of that C name among threads, unless an earlier one has timed out.
    #[doc(hidden)]
    pub fn keeping_step<R>(
        &self,
        operation: &'static str,
        collective: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        self.must_be_in_step(operation)?;
        collective().map_err(|error| {
            if error.kind() == ErrorKind::TimedOut {
                self.lose_step();
            }
            self.mismatched(error)
        })
    }

    /// The error of calls that differ, which names this communicator.
    #[doc(hidden)]
    #[must_use]
    pub fn mismatched(&self, error: Error) -> Error {
        self.0.recorder.mismatched(error)
    }

    /// Returns `true` if the call that this thread is in may time out, so that it must not block in
    /// a library.
    #[doc(hidden)]
    #[must_use]
    pub fn ends_in_time(&self) -> bool {
        limit::may_end().is_some()
    }

    /// Returns `true` if a blocking collective is to be begun and waited for: since it may time
    /// out, or since a rank may be lost, where Open MPI leaves messages of a blocking one in
    /// flight.
    #[doc(hidden)]
    #[must_use]
    pub fn begins_collectives(&self) -> bool {
        self.ends_in_time() || fault_tolerance::is_on()
    }

    /// Exchanges bytes: returns those of all ranks, in rank order; all pass as many. Collective.
    #[doc(hidden)]
    pub fn exchange(&self, operation: &'static str, mine: &[u8]) -> Result<Arc<[u8]>> {
        let _entered = self.enter(operation)?;
        self.all_call(operation, Ok(()))?;
        self.exchange_within(operation, mine)
    }

    /// As [`exchange`](Self::exchange), within `operation`, which has been entered.
    #[doc(hidden)]
    pub fn exchange_within(&self, operation: &'static str, mine: &[u8]) -> Result<Arc<[u8]>> {
        self.all_in_time(operation, |left| match self.backend() {
            Backend::Mpi(comm) => {
                let begun = exchange::gather(comm.canonical, mine, self.size())?;
                let all = comm.finish(begun, left, || self.is_out_of_step())?;
                Ok(all.map(Into::into))
            }
            Backend::InProcess(comm) => comm.exchange(mine, left),
        })
    }

    /// Joins the words of all ranks, which pass as many, within `operation`, which has been
    /// entered. Collective.
    #[doc(hidden)]
    pub fn join_within(
        &self,
        operation: &'static str,
        words: &[u64],
        by: Join,
    ) -> Result<Vec<u64>> {
        self.all_in_time(operation, |left| match self.backend() {
            Backend::Mpi(comm) => {
                let begun = exchange::join(comm.canonical, words, by)?;
                comm.finish(begun, left, || self.is_out_of_step())
            }
            Backend::InProcess(comm) => comm.join_in_time(words, by, left),
        })
    }

    /// Does what takes all ranks, up to the time that is left; `None` if not all came.
    fn all_in_time<R>(
        &self,
        operation: &'static str,
        exchange: impl FnOnce(Duration) -> Result<Option<R>>,
    ) -> Result<R> {
        let limited = limit::may_end();
        let left = limited.as_ref().and_then(|under_way| under_way.left());
        let left = left.unwrap_or(Duration::MAX);
        let is_settled = self.settle(left)?;
        self.must_be_in_step(operation)?;
        if is_settled && let Some(all) = exchange(left).map_err(|error| error.of(operation))? {
            return Ok(all);
        }
        self.must_be_in_step(operation)?;
        Err(self.too_late(operation, limited.as_deref(), left))
    }

    /// The error where not all ranks came in the time `left` of the call that is limited, or within
    /// the limit of comparisons.
    #[cold]
    fn too_late(
        &self,
        operation: &'static str,
        limited: Option<&CallInFlight>,
        left: Duration,
    ) -> Error {
        if let Some(under_way) = limited.filter(|_| left <= self.check_limit())
            && let Err(late) = under_way.is_late(&under_way.states())
        {
            self.lose_step();
            return late;
        }
        self.not_all_came(operation)
    }

    /// The time that ranks wait for each other where they compare their calls; [`Duration::MAX`] is
    /// for ever.
    pub(crate) fn check_limit(&self) -> Duration {
        match self.backend() {
            Backend::Mpi(comm) => comm.session.comparing.limit,
            Backend::InProcess(comm) => comm.check_limit(),
        }
    }

    /// The error of a comparison that timed out; later exchanges of the ranks would not match, so
    /// that they are out of step.
    #[cold]
    pub(crate) fn not_all_came(&self, operation: &'static str) -> Error {
        self.lose_step();
        let (recorder, limit) = (&self.0.recorder, self.check_limit());
        let call = inflight_calls::here();
        let others = call.as_ref().map(|call| call.states());
        let others = limit::Others(call.as_deref(), others.as_deref().unwrap_or_default());
        recorder.not_all_came(operation, limit, &others)
    }

    /// Compares the calls that all ranks are about to make, as a part of `operation`, which was
    /// entered. Collective.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`], the same on every rank, if a rank refuses its call or two call
    /// differently.
    #[doc(hidden)]
    pub fn compare_descriptions(
        &self,
        operation: &'static str,
        told: &CallDescription,
    ) -> Result<()> {
        if !self.compares_digests() {
            let all = self.exchange_within(operation, told.bytes())?;
            return self.step().compare(operation, &all);
        }
        let words = Joined::words(told, self.rank(), true);
        let joined = Joined::of(&self.join_within(operation, &words, Join::Min)?);
        self.step().compare_joined(operation, told, joined)?;
        if joined.is_equal() {
            return Ok(());
        }
        let error = Groups::find_out(
            operation,
            told,
            self.rank(),
            |mine| self.exchange_within(operation, mine),
            |words| self.join_within(operation, words, Join::Or),
        )?;
        Err(self.mismatched(error))
    }

    fn step(&self) -> Step {
        Step {
            is_lost: Arc::clone(&self.0.out_of_step),
            recorder: Arc::clone(&self.0.recorder),
        }
    }

    /// Returns `true` if ranks join digests of their calls.
    fn compares_digests(&self) -> bool {
        match self.backend() {
            Backend::Mpi(comm) => comm.session.comparing.is_by_digests(self.size()),
            Backend::InProcess(_) => false,
        }
    }

    /// Starts the comparison of a nonblocking call, which is complete when all ranks have described
    /// theirs. Collective.
    ///
    /// # Errors
    /// Errors of the library. The operation ends in an [`ErrorKind::Mismatch`] if two ranks call
    /// differently.
    #[doc(hidden)]
    pub fn begin_comparing(
        &self,
        operation: &'static str,
        told: &CallDescription,
    ) -> Result<StartedOp> {
        let step = self.step();
        match self.backend() {
            Backend::Mpi(over) if !self.compares_digests() => {
                let begun = exchange::gather(over.canonical, told.bytes(), self.size())?;
                Ok(begun.then(move |all| step.compare(operation, all)))
            }
            Backend::Mpi(over) => {
                let (told, words) = (told.clone(), Joined::words(told, self.rank(), false));
                let begun = exchange::join(over.canonical, &words, Join::Min)?;
                Ok(begun.then(move |all| step.compare_joined(operation, &told, Joined::of(all))))
            }
            Backend::InProcess(over) => over.begin_exchange(operation, told.bytes(), move |all| {
                step.compare(operation, all)
            }),
        }
    }

    /// Leaves the comparison of a call that this rank has not begun to the runtime. If others have
    /// begun it, no later collective would match, so the next one [waits](Self::comes_in_step).
    #[doc(hidden)]
    pub fn leave_comparing(&self, begun: StartedOp) {
        PendingOp::begun(self, &LEFT, begun).abandon(self, InFlight::new(()).into_keep_alive());
    }

    /// Compares a call of which only the name must be equal, where ranks compare their calls;
    /// `ready` may be an error, which is sent to the other ranks then.
    pub(crate) fn all_call<A>(&self, operation: &'static str, ready: Result<A>) -> Result<A> {
        self.all_call_as(operation, ready, || CallDescription::named(operation))
    }

    /// The same for a call of which more must be equal.
    pub(crate) fn all_call_as<A>(
        &self,
        operation: &'static str,
        ready: Result<A>,
        told: impl FnOnce() -> CallDescription,
    ) -> Result<A> {
        let compared = self.compare_call(operation, ready.as_ref().err(), told);
        // This rank's own reason is more to the point than that a rank refuses.
        let ready = ready?;
        compared.map(|()| ready)
    }

    /// Compares a call, which this rank may refuse, where ranks compare their calls.
    pub(crate) fn compare_call(
        &self,
        operation: &'static str,
        refusal: Option<&Error>,
        told: impl FnOnce() -> CallDescription,
    ) -> Result<()> {
        if !self.compares_calls() {
            return Ok(());
        }
        let told = refusal.map_or_else(told, CallDescription::refusing);
        self.compare_descriptions(operation, &told)
    }
}

/// The step of the ranks of a communicator, for comparisons that are pending.
struct Step {
    is_lost: Arc<AtomicBool>,
    recorder: Arc<Recorder>,
}

impl Step {
    /// Compares the descriptions of all ranks. If they differ, and some ranks have started an
    /// operation that others never will, no later operation on the communicator would match, and it
    /// is out of step.
    fn compare(&self, operation: &'static str, all: &[u8]) -> Result<()> {
        let compared = CallDescription::compare(operation, all);
        compared.map_err(|error| self.differ(error, CallDescription::any_begins(all)))
    }

    /// The same where ranks have joined their digests: an error if calls differ, unless all ranks
    /// stay to find out more.
    fn compare_joined(
        &self,
        operation: &'static str,
        told: &CallDescription,
        joined: Joined,
    ) -> Result<()> {
        if joined.is_equal() || joined.all_stay() {
            return Ok(());
        }
        Err(self.differ(joined.differ(operation, told), joined.any_begins()))
    }

    #[cold]
    fn differ(&self, error: Error, any_begins: bool) -> Error {
        if any_begins {
            self.is_lost.store(true, Ordering::Relaxed);
        }
        self.recorder.mismatched(error)
    }
}
