//! The state of a communicator, held by it and by all that is in flight on it: NCCL's handle, and
//! whether it may still be used.
//!
//! # Safety
//!
//! A handle is given to the library by [`Shared::make`], on which all calls stand, and by the end
//! of the communicator (`abort`, `finalize`, the last handle dropped), and by nothing else. Those
//! that use it do so under the mutex of its state; those that free it have taken it out of there
//! before. So a handle that was freed (which `ncclCommAbort` does as well) reaches no call.
#![allow(unsafe_code)]

use std::ffi::{CString, c_void};
use std::fmt;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ranks_comm::backend::{CallFacts, Track, observed};
use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::Context;
use ranks_nccl_sys::{
    Nccl, Table, ncclComm, ncclComm_t, ncclInProgress, ncclResult_t, ncclSuccess,
};

use super::error::{Caller, RankOnDevice, failure, is_refusal, missing};
use crate::state::call_lock::CallLock;
use crate::state::deferred_destroy::MOMENT;
use crate::state::dropped_memory::DroppedMemory;
use crate::state::shared_resources::Family;

mod call_lock;
pub(crate) mod deferred_destroy;
mod dropped_memory;
pub(crate) mod handle_slot;
pub(crate) mod memory_handle;
pub(crate) mod open_group;
pub(crate) mod shared_resources;
pub(crate) mod time_limit;

/// A rank of a communicator, as long as anything refers to it.
pub(crate) struct Shared {
    nccl: &'static Nccl,
    context: Context,
    place: RankOnDevice,
    time_limit: Option<Duration>,
    /// Memory that the configuration points at.
    pub(super) names: Arc<[CString]>,
    pub(super) family: Family,
    call_lock: CallLock,
    dropped_memory: DroppedMemory,
    /// Its calls, as observers see them.
    pub(super) track: Track,
    state: Mutex<State>,
}

enum State {
    Live {
        comm: Handle,
        /// A group that is still open has calls of it, which its thread alone can end.
        grouped: bool,
        /// The reason why it is to be aborted as soon as that group is complete.
        doomed: Option<String>,
    },
    Gone {
        kind: ErrorKind,
        why: String,
    },
}

/// NCCL's handle of a communicator that is not freed.
#[derive(Clone, Copy)]
pub(super) struct Handle(pub(super) NonNull<ncclComm>);

// SAFETY: the library lets any thread use a communicator, one at a time; the mutex around the state
// sees to that.
unsafe impl Send for Handle {}

impl Shared {
    /// Takes over a communicator that the library has made.
    pub(super) fn new(
        nccl: &'static Nccl,
        comm: Handle,
        context: Context,
        place: RankOnDevice,
        time_limit: Option<Duration>,
        names: Arc<[CString]>,
        family: Family,
    ) -> Arc<Self> {
        let shared = Arc::new(Self {
            nccl,
            context,
            place,
            time_limit,
            names,
            family,
            call_lock: CallLock::default(),
            dropped_memory: DroppedMemory::default(),
            track: place.track(),
            state: Mutex::new(State::Live {
                comm,
                grouped: false,
                doomed: None,
            }),
        });
        shared.family.joined_by(&shared);
        shared
    }

    pub(crate) fn nccl(&self) -> &'static Nccl {
        self.nccl
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn device(&self) -> usize {
        self.place.device
    }

    pub(crate) fn rank(&self) -> usize {
        self.place.rank
    }

    pub(crate) fn size(&self) -> usize {
        self.place.size
    }

    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.time_limit
    }

    /// Makes one C call on the communicator, and waits until the library has done what belongs to
    /// it: until an operation is enqueued, that is, not until it is over.
    ///
    /// In an open group of this thread nothing is waited for, and nothing is enqueued before the
    /// group ends. `make` gets the library's functions and the handle, and makes the call; it
    /// returns `None` if the library lacks the function.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] for that; [`ErrorKind::Aborted`] and [`ErrorKind::Finalized`]
    /// for a communicator that is gone; what NCCL reports, which aborts the communicator unless the
    /// library only refuses an argument; [`ErrorKind::TimedOut`], which aborts it.
    #[inline]
    pub(crate) fn call(
        self: &Arc<Self>,
        operation: &'static str,
        make: impl FnOnce(&Table, ncclComm_t) -> Option<ncclResult_t>,
    ) -> Result<()> {
        self.call_with(operation, || operation.into(), make)
    }

    /// The same for a call with these facts for observers.
    #[inline]
    pub(crate) fn call_with(
        self: &Arc<Self>,
        operation: &'static str,
        facts: impl FnOnce() -> CallFacts,
        make: impl FnOnce(&Table, ncclComm_t) -> Option<ncclResult_t>,
    ) -> Result<()> {
        observed(&self.track, facts, || self.call_unobserved(operation, make))
    }

    #[inline]
    fn call_unobserved(
        self: &Arc<Self>,
        operation: &'static str,
        make: impl FnOnce(&Table, ncclComm_t) -> Option<ncclResult_t>,
    ) -> Result<()> {
        if open_group::join(self, operation)? {
            return self
                .accepted(operation, self.make(operation, make)?)
                .map(drop);
        }
        let _turn = self.take_turn(operation)?;
        if self.accepted(operation, self.make(operation, make)?)? {
            self.settle(operation)?;
        }
        Ok(())
    }

    /// The same for a call that is over when it returns, and in a group as well: one that takes
    /// something back. It waits for other threads' calls no longer than a moment, so that it may be
    /// made in `drop`.
    ///
    /// # Errors
    /// As [`call`](Self::call), and [`ErrorKind::TimedOut`] after that moment: then nothing was
    /// done.
    pub(crate) fn ask(
        &self,
        operation: &'static str,
        make: impl FnOnce(&Table, ncclComm_t) -> Option<ncclResult_t>,
    ) -> Result<()> {
        let _turn = if open_group::has(self) {
            None
        } else {
            Some(self.take_turn_within(Some(MOMENT), operation)?)
        };
        self.accepted(operation, self.make(operation, make)?)
            .map(drop)
    }

    /// Makes the call under the mutex of the state.
    #[inline]
    pub(super) fn make(
        &self,
        operation: &'static str,
        make: impl FnOnce(&Table, ncclComm_t) -> Option<ncclResult_t>,
    ) -> Result<ncclResult_t> {
        let state = self.lock();
        match &*state {
            State::Live {
                comm, doomed: None, ..
            } => make(self.nccl.table(), comm.0.as_ptr())
                .ok_or_else(|| missing(self.nccl, operation)),
            gone => Err(gone.error(operation)),
        }
    }

    /// Reads the code of a call: returns `true` if the library goes on with it.
    #[inline]
    fn accepted(&self, operation: &'static str, code: ncclResult_t) -> Result<bool> {
        if code == ncclSuccess {
            Ok(false)
        } else if code == ncclInProgress {
            Ok(true)
        } else {
            Err(self.failed(operation, code))
        }
    }

    /// The error for a code; the communicator is aborted unless only an argument was refused, and
    /// the library thinks so too.
    #[cold]
    pub(super) fn failed(&self, operation: &'static str, code: ncclResult_t) -> Error {
        let error = failure(self.nccl, operation, code, self.caller());
        if !is_refusal(code) || !self.goes_on() {
            self.abort_because(&error.to_string());
        }
        error
    }

    /// Returns `true` if the library would take more calls: of some failures it says so for ever.
    pub(super) fn goes_on(&self) -> bool {
        let standing = self.standing("ncclCommGetAsyncError");
        matches!(standing, Ok(code) if code == ncclSuccess || code == ncclInProgress)
    }

    /// The library's state of the communicator: a code, `ncclInProgress` among them.
    ///
    /// # Errors
    /// As for any call if the communicator is gone.
    pub(super) fn standing(&self, operation: &'static str) -> Result<ncclResult_t> {
        let mut standing = ncclSuccess;
        let code = self.make(operation, |table, comm| {
            let function = table.ncclCommGetAsyncError?;
            // SAFETY: the handle is not freed while the state is locked, and `standing` is there to
            // be written to.
            Some(unsafe { function(comm, &raw mut standing) })
        })?;
        Ok(if code == ncclSuccess { standing } else { code })
    }

    pub(super) fn caller(&self) -> Caller {
        Caller::Rank(self.place)
    }

    /// Waits until no other thread is in a call.
    pub(super) fn take_turn(&self, operation: &'static str) -> Result<Taken<'_>> {
        self.take_turn_within(self.time_limit, operation)
    }

    fn take_turn_within(
        &self,
        limit: Option<Duration>,
        operation: &'static str,
    ) -> Result<Taken<'_>> {
        if self.call_lock.take(limit) {
            return Ok(Taken(&self.call_lock));
        }
        let limit = limit.unwrap_or_default();
        let text = format_args!(
            "another thread has been in a call on this communicator, or holds it in a group, for {limit:?}"
        );
        Err(Error::new(ErrorKind::TimedOut, operation, text))
    }

    /// Aborts the communicator, and those that share its resources, if it is not gone.
    pub(super) fn abort_because(&self, why: &str) {
        self.end_by_abort(why);
        self.family.abort_others(self, why);
    }

    /// Aborts this one alone.
    pub(super) fn end_by_abort(&self, why: &str) {
        let mut state = self.lock();
        match &mut *state {
            State::Gone { .. } => return,
            State::Live {
                grouped: true,
                doomed,
                ..
            } => {
                doomed.get_or_insert_with(|| why.to_owned());
                return;
            }
            State::Live { .. } => {}
        }
        let gone = State::gone(ErrorKind::Aborted, why);
        let former = mem::replace(&mut *state, gone);
        drop(state);
        if let State::Live { comm, .. } = former {
            abort_handle(self.nccl, &self.context, comm);
        }
    }

    /// Takes the handle out, for its end; later calls are errors.
    ///
    /// # Errors
    /// As for any call if the communicator is gone.
    pub(super) fn take_handle(&self, operation: &'static str) -> Result<Handle> {
        let mut state = self.lock();
        match &*state {
            State::Live { comm, .. } => {
                let comm = *comm;
                *state = State::gone(ErrorKind::Finalized, "it was finalized");
                Ok(comm)
            }
            gone @ State::Gone { .. } => Err(gone.error(operation)),
        }
    }

    /// A group that is open now has calls of the communicator, until
    /// [`ungrouped`](Self::ungrouped).
    pub(super) fn set_grouped(&self) {
        if let State::Live { grouped, .. } = &mut *self.lock() {
            *grouped = true;
        }
    }

    /// The group is over. What was to be aborted meanwhile is aborted now.
    pub(super) fn ungrouped(&self) {
        let doom = match &mut *self.lock() {
            State::Live {
                grouped, doomed, ..
            } => {
                *grouped = false;
                doomed.take()
            }
            State::Gone { .. } => None,
        };
        if let Some(why) = doom {
            self.abort_because(&why);
        }
    }

    /// The handle as a number, with no promise that it is alive.
    pub(super) fn raw(&self) -> *mut c_void {
        match &*self.lock() {
            State::Live { comm, .. } => comm.0.as_ptr().cast(),
            State::Gone { .. } => ptr::null_mut(),
        }
    }

    pub(crate) fn is_aborted(&self) -> bool {
        match &*self.lock() {
            State::Live { doomed, .. } => doomed.is_some(),
            State::Gone { kind, .. } => *kind == ErrorKind::Aborted,
        }
    }

    pub(crate) fn failure(&self) -> Option<String> {
        match &*self.lock() {
            State::Live { doomed, .. } => doomed.clone(),
            State::Gone { why, .. } => Some(why.clone()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RankOnDevice {
    /// A communicator of this rank, as observers see it.
    pub(super) fn track(self) -> Track {
        Track::new("nccl", "NCCL", self.rank, self.size)
    }
}

impl State {
    fn gone(kind: ErrorKind, why: &str) -> Self {
        let why = why.to_owned();
        Self::Gone { kind, why }
    }

    /// The error of a call on a communicator that is gone or about to go.
    #[cold]
    fn error(&self, operation: &'static str) -> Error {
        let (kind, why) = match self {
            Self::Live { doomed, .. } => {
                (ErrorKind::Aborted, doomed.as_deref().unwrap_or_default())
            }
            Self::Gone { kind, why } => (*kind, why.as_str()),
        };
        let text = match kind {
            ErrorKind::Aborted => format!("the communicator was aborted: {why}"),
            _ => format!("the communicator cannot be used any more: {why}"),
        };
        Error::new(kind, operation, text)
    }
}

/// A turn that ends with its scope.
pub(super) struct Taken<'a>(&'a CallLock);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.give();
    }
}

/// Frees a communicator and gives up what is under way on it.
pub(super) fn abort_handle(nccl: &'static Nccl, context: &Context, comm: Handle) {
    let Some(function) = nccl.table().ncclCommAbort else {
        return;
    };
    let _current = context.enter();
    // SAFETY: whoever has a `Handle` outside of a state has taken it from there, so that this is
    // its last use. What the call reports changes nothing: the handle is gone.
    let _code = unsafe { function(comm.0.as_ptr()) };
}

impl Drop for Shared {
    fn drop(&mut self) {
        let state = mem::replace(self.lock_mut(), State::gone(ErrorKind::Finalized, ""));
        if let State::Live { comm, .. } = state {
            deferred_destroy::leave(
                self.nccl,
                self.context.clone(),
                Arc::clone(&self.names),
                self.dropped_memory.memory(),
                comm,
            );
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NcclCommunicator")
            .field("rank", &self.place.rank)
            .field("size", &self.place.size)
            .field("device", &self.place.device)
            .field("failure", &self.failure())
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn lock_mut(&mut self) -> &mut State {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
