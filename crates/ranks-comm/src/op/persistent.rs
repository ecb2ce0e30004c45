//! Persistent operations: prepared once, started many times.
#![allow(unsafe_code)]

use std::fmt;

use crate::call::fast_path::FastPath;
use crate::call::{limit, record};
use crate::communicator::Communicator;
use crate::data::in_flight::{InFlight, Over};
use crate::data::lent::Places;
use crate::data::owned::{RecvBuffer, SendBuffer};
use crate::data::raw_slice::RecvTarget;
use crate::data::source::Source;
use crate::op::mpi::persistent::Silent;
use crate::op::mpi::request_copies::{ROOMS, RequestCopies};
use crate::result::status::{EMPTY_STATUS, Words};
use crate::result::{Result, Status};
use crate::transport::backend::Backend;
use crate::transport::completion::Completion;
use crate::transport::mpi::Native;
use crate::transport::pending_op::PendingOp;

mod active;
mod collective;
mod init;
mod plan;

pub use active::Active;
pub use collective::Again;
use plan::{Plan, What, begin, gone};

/// An inactive persistent operation; it owns its buffer, which can be used while no start is
/// pending.
///
/// From [`Communicator::send_init`], [`recv_init`](Communicator::recv_init) and their kin.
/// [`start`](Self::start) turns it into an [`Active`], and [`Active::wait`] back, so that nothing
/// can be started twice, waited for without being started, or touched while a message is in flight:
///
/// ```
/// # fn main() -> ranks::Result<()> {
/// # ranks::run(|world| {
/// let mut sending = world.send_init(vec![0u32; 4], world.rank(), 7)?;
/// let mut receiving = world.recv_init(vec![0u32; 4], world.rank(), 7)?;
/// for step in 0..10 {
///     sending.buffer_mut().fill(step);
///     let (to_come, to_go) = (receiving.start()?, sending.start()?);
///     (receiving, _) = to_come.wait()?;
///     (sending, _) = to_go.wait()?;
///     assert_eq!(receiving.buffer(), [step; 4]);
/// }
/// # Ok(())
/// # })
/// # }
/// ```
///
/// ```compile_fail,E0382
/// # fn twice(request: ranks::Persistent<Vec<u8>>) -> ranks::Result<()> {
/// let active = request.start()?;
/// request.buffer(); // a message may just be arriving there
/// # Ok(())
/// # }
/// ```
///
/// ```compile_fail,E0599
/// # fn missing_start(request: ranks::Persistent<Vec<u8>>) -> ranks::Result<()> {
/// request.wait()?; // it was not started
/// # Ok(())
/// # }
/// ```
///
/// A buffer cannot grow or shrink: the library has its address.
///
/// ```compile_fail,E0599
/// # fn longer(mut request: ranks::Persistent<Vec<u8>>) {
/// request.buffer_mut().push(1);
/// # }
/// ```
///
/// MPI 5.0 §3.9.
pub struct Persistent<B: Send + 'static>(Box<Inner<B>>);

struct Inner<B: Send + 'static> {
    comm: Communicator,
    /// The communicator that it was prepared on, if `comm` was made for it alone.
    prepared_on: Option<Communicator>,
    /// The library's persistent request; `None` where each start makes an operation of its own.
    native: Option<Native>,
    phase: Phase,
    /// Set if an operation that `native` starts has no status to read, unless it has failed.
    silent: Option<Silent>,
    /// The test for the fast path of `comm`, one load away.
    calls: &'static FastPath,
    /// In [`Phase::Flying`]: the pending operation, or its outcome.
    flight: PendingOp,
    plan: Plan,
    last: Status,
    /// The elements of `buffer`; every use of them goes through this.
    places: Places,
    /// `None` once it was given back.
    buffer: Option<InFlight<B>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    /// An operation may have been started.
    Beginning,
    /// `native` is started.
    Started,
    /// `flight` is pending or complete.
    Flying,
}

impl<B: Send + 'static> Persistent<B> {
    fn new(
        comm: &Communicator,
        native: Option<Native>,
        plan: Plan,
        places: Places,
        buffer: InFlight<B>,
    ) -> Self {
        Self(Box::new(Inner {
            calls: comm.calls(),
            silent: native.as_ref().and_then(Native::silent),
            comm: comm.clone(),
            prepared_on: None,
            native,
            phase: Phase::Idle,
            flight: PendingOp::Gone,
            plan,
            last: Status::null(),
            places,
            buffer: Some(buffer),
        }))
    }

    /// Starts the operation. Nonblocking.
    ///
    /// # Errors
    /// [`WrongThread`](crate::ErrorKind::WrongThread), [`Finalized`](crate::ErrorKind::Finalized),
    /// or what the library reports. The request is lost then.
    ///
    /// MPI 5.0 §3.9 (`MPI_Start`).
    #[doc(alias = "MPI_Start")]
    #[inline(always)]
    pub fn start(mut self) -> Result<Active<B>> {
        self.0.start()?;
        Ok(Active(self.0))
    }

    /// Starts all of them, with as few calls of the library as possible.
    ///
    /// # Errors
    /// As [`start`](Self::start); all of them are lost then, and those that were started are left
    /// to the runtime.
    ///
    /// MPI 5.0 §3.9 (`MPI_Startall`).
    #[doc(alias = "MPI_Startall")]
    pub fn start_all(mut requests: Vec<Self>) -> Result<Vec<Active<B>>> {
        for some in requests.chunks_mut(ROOMS) {
            if start_together(some)? {
                continue;
            }
            for request in some {
                request.0.start()?;
            }
        }
        Ok(requests
            .into_iter()
            .map(|request| Active(request.0))
            .collect())
    }

    /// The status of the last wait.
    #[must_use]
    pub fn status(&self) -> Status {
        self.0.last
    }

    /// The communicator that it was prepared on; `None` if that was an
    /// [`Intercommunicator`](crate::Intercommunicator).
    #[must_use]
    pub fn communicator(&self) -> Option<&Communicator> {
        let comm = self.0.prepared_on.as_ref().unwrap_or(&self.0.comm);
        // An intercommunicator cannot be handed out as a `Communicator`.
        Some(comm).filter(|comm| !comm.is_between())
    }

    /// Frees the request and gives the buffer back. Dropping it frees the request as well.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Request_free`).
    #[doc(alias = "MPI_Request_free")]
    pub fn free(mut self) -> Result<B> {
        self.0.retire()?;
        self.0.memory().ok_or_else(|| gone(self.0.plan.role))
    }
}

impl<B: SendBuffer + Send + 'static> Persistent<B> {
    /// The elements that the next start sends, or that were received last.
    #[must_use]
    pub fn buffer(&self) -> &[B::Element] {
        let places = self.0.places();
        // SAFETY: the elements of the buffer, by who has prepared it; nothing works on them, or can
        // while `self` is borrowed.
        places.map_or(&[], |places| unsafe { places.buffer.as_slice() })
    }

    /// The same elements, mutably.
    #[must_use]
    pub fn buffer_mut(&mut self) -> &mut [B::Element]
    where
        B: RecvBuffer,
    {
        match self.0.get_mut() {
            // SAFETY: as above, and what is begun later gets the new pointer.
            Some((buffer, places)) => unsafe { places.buffer.lend_mut(buffer) },
            None => &mut [],
        }
    }
}

/// Starts all of them with one call, if possible.
fn start_together<B: Send + 'static>(requests: &mut [Persistent<B>]) -> Result<bool> {
    let Some(first) = requests.first() else {
        return Ok(true);
    };
    if first.0.comm.fast_path(1).is_none() {
        return Ok(false);
    }
    let mut copies = RequestCopies::new();
    for request in requests.iter() {
        match &request.0.native {
            Some(native) if copies.put(native) => {}
            _ => return Ok(false),
        }
    }
    let started = copies.start();
    for (index, request) in requests.iter_mut().enumerate() {
        if let Some(native) = &mut request.0.native {
            copies.give_back(index, native);
            // After an error too: a later test of a request that was not started says that it is
            // complete.
            request.0.phase = Phase::Started;
        }
    }
    started.map(|()| true)
}

impl<B: Send + 'static> Inner<B> {
    /// Proof that nothing works on the buffer.
    fn at_rest(&self) -> Option<Over> {
        // SAFETY: it is idle when it is prepared, and when what was begun is over (`has_ended`).
        (self.phase == Phase::Idle).then(|| unsafe { Over::new() })
    }

    /// The elements, while nothing works on them.
    fn places(&self) -> Option<Places> {
        self.at_rest().map(|_| self.places)
    }

    /// The buffer and the places of its elements, mutably, while nothing works on it.
    fn get_mut(&mut self) -> Option<(&mut B, &mut Places)> {
        let over = self.at_rest()?;
        let buffer = self.buffer.as_mut()?.get_mut(&over);
        Some((buffer, &mut self.places))
    }

    /// Takes the buffer.
    fn memory(&mut self) -> Option<B> {
        let over = self.at_rest()?;
        Some(self.buffer.take()?.give_back(over))
    }

    #[inline(always)]
    fn start(&mut self) -> Result<()> {
        match &mut self.native {
            Some(native) if self.calls.takes(1) => {
                native.start()?;
                self.phase = Phase::Started;
                Ok(())
            }
            _ => self.start_slow(),
        }
    }

    /// Starts a receive from one rank on the fast path, as a request that is gone when it is
    /// complete; returns `false` if that is not possible. One from any rank may be pending after a
    /// wait, when a rank has failed.
    fn post(&mut self) -> Result<bool> {
        let (&What::Recv(source @ Source::Rank(_), tag), Some(places)) =
            (&self.plan.what, self.places())
        else {
            return Ok(false);
        };
        if self.native.is_some() {
            return Ok(false);
        }
        let (role, span) = (self.plan.role, places.buffer.span);
        let (Some(over), Some(element)) =
            (self.comm.fast_path_receive(1, span.bytes()), role.element)
        else {
            return Ok(false);
        };
        let capacity = RecvTarget::Into(span).capacity(element);
        self.phase = Phase::Beginning;
        match over.0.irecv_begun(role, capacity, span, source, tag) {
            Ok(Ok(cell)) => {
                self.native = Some(over.0.request(cell, role, capacity));
                self.phase = Phase::Started;
            }
            Ok(Err(error)) => {
                self.flight = PendingOp::Over(Err(error));
                self.phase = Phase::Flying;
            }
            Err(error) => {
                self.phase = Phase::Idle;
                return Err(error);
            }
        }
        Ok(true)
    }

    #[cold]
    #[inline(never)]
    fn start_slow(&mut self) -> Result<()> {
        if self.post()? {
            return Ok(());
        }
        let _entered = self.comm.enter(record::START)?;
        if let (Backend::Mpi(comm), Some(native)) = (self.comm.backend(), &mut self.native)
            && (!native.receives() || !comm.has_claims())
        {
            native.start()?;
            self.phase = Phase::Started;
            return Ok(());
        }
        let role = self.plan.role;
        let places = self.places().ok_or_else(|| gone(role))?;
        self.phase = Phase::Beginning;
        match begin(&self.comm, &mut self.plan, places) {
            Ok(flight) => {
                self.flight = flight;
                self.phase = Phase::Flying;
                Ok(())
            }
            Err(error) => {
                self.phase = Phase::Idle;
                Err(error)
            }
        }
    }

    /// Waits for an operation without a status to read, if the fast path is open.
    #[inline(always)]
    fn wait_silently(&mut self) -> Option<Result<Status>> {
        let silent = self.silent?;
        if self.phase != Phase::Started || !self.calls.takes(1) {
            return None;
        }
        let outcome = self.native.as_mut()?.finish_silently(silent);
        self.phase = Phase::Idle;
        // This is the status that `last` has.
        Some(outcome.map(|()| Status::null()))
    }

    /// Waits for an operation with a status, if the fast path is open; `None` if the outcome is for
    /// [`wait`](Self::wait).
    #[inline(always)]
    fn wait_fast(&mut self) -> Option<Status> {
        if self.phase != Phase::Started || !self.calls.takes(1) {
            return None;
        }
        let native = self.native.as_mut().filter(|native| native.is_plain())?;
        let mut words = EMPTY_STATUS;
        match native.wait_plain(&mut words) {
            Ok((kind, _)) => {
                self.last = Status::new(kind, words);
                self.rests();
                Some(self.last)
            }
            Err(code) => {
                self.flies(code, &words);
                None
            }
        }
    }

    /// Keeps the outcome of a wait that is more than a status.
    #[cold]
    #[inline(never)]
    fn flies(&mut self, code: i32, words: &Words) {
        if let Some(native) = &mut self.native {
            self.flight = PendingOp::Over(native.outcome(code, words).map(Completion::plain));
            self.phase = Phase::Flying;
        }
    }

    /// An outer error says that this thread may not wait; the inner one is the operation's own.
    #[cold]
    #[inline(never)]
    fn wait(&mut self) -> Result<Result<Status>> {
        let outcome = match (self.phase, &mut self.native) {
            (Phase::Started, Some(native)) => {
                let _entered = self.comm.enter(record::WAIT)?;
                match limit::may_end() {
                    Some(under_way) => {
                        under_way.is_end_of(native.operation());
                        under_way.look(|| native.test())?
                    }
                    None => native.finish(),
                }
            }
            (Phase::Flying, _) => {
                self.flight.wait(&self.comm)?;
                let landed = self.flight.take().map(|landed| landed.status);
                landed.map_err(|error| error.of(self.plan.role.operation))
            }
            (Phase::Idle, _) => Ok(Status::null()),
            (Phase::Beginning | Phase::Started, _) => return Err(gone(self.plan.role)),
        };
        self.has_ended(&outcome);
        Ok(outcome)
    }

    /// Notes that the started operation is complete.
    fn has_ended(&mut self, outcome: &Result<Status>) {
        self.rests();
        if let Ok(status) = outcome {
            self.last = *status;
        }
    }

    /// Nothing works on the buffer any more, and a request that was begun for one start is gone.
    #[inline(always)]
    fn rests(&mut self) {
        self.phase = Phase::Idle;
        self.native.take_if(|native| !native.persistent);
    }

    fn test(&mut self) -> Result<bool> {
        match (self.phase, &mut self.native) {
            (Phase::Started, Some(native)) => {
                let _entered = self.comm.enter(record::TEST)?;
                let Some(outcome) = native.test()? else {
                    return Ok(false);
                };
                self.flight = PendingOp::Over(outcome.map(Completion::plain));
                self.phase = Phase::Flying;
                Ok(true)
            }
            (Phase::Flying, _) => self.flight.test(&self.comm),
            _ => Ok(true),
        }
    }

    /// Frees the library's request, which is inactive.
    fn retire(&mut self) -> Result<()> {
        match (self.comm.backend(), self.native.take()) {
            (Backend::Mpi(comm), Some(native)) => comm.retire(native),
            _ => Ok(()),
        }
    }
}

impl<B: Send + 'static> Drop for Inner<B> {
    fn drop(&mut self) {
        let flight = match (self.phase, self.native.take()) {
            (Phase::Started, Some(native)) => PendingOp::Native(native),
            (phase, native) => {
                self.native = native;
                // A request that is not freed only leaks.
                let _ = self.retire();
                match phase {
                    Phase::Flying => std::mem::replace(&mut self.flight, PendingOp::Gone),
                    Phase::Idle => return drop(self.memory()),
                    // The buffer is leaked.
                    Phase::Beginning | Phase::Started => return,
                }
            }
        };
        if let Some(buffer) = self.buffer.take() {
            flight.abandon(&self.comm, buffer.into_keep_alive());
        }
    }
}

impl<B: Send + 'static> fmt::Debug for Persistent<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Persistent")
            .field("operation", &self.0.plan.role.operation)
            .finish_non_exhaustive()
    }
}
