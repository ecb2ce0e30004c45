//! The path from a call to the backend: the fast path, and the slow path with all checks.

use super::{Communicator, time_limit};
use crate::call::call_guard::CallGuard;
use crate::call::callback;
use crate::call::fast_path::FastPath;
use crate::call::hold;
use crate::call::inflight_calls::{Callee, Threads};
use crate::call::inside::Alone;
use crate::call::limit::Limit;
use crate::call::record::{Call, Class, Recorded, Recorder};
use crate::call::thread_guard::THREAD_GUARD;
use crate::result::{ErrorKind, Result};
use crate::transport::backend::Backend;
use crate::transport::in_process::world::World;
use crate::transport::{in_process, mpi};
use std::sync::Arc;

impl Communicator {
    /// The library's communicator, if a call that moves `items` (of its datatype, in one block) may
    /// take the fast path; `None` if it must take the slow one, as [`dispatch`](Self::dispatch)
    /// does.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn fast_path(&self, items: usize) -> Option<&mpi::Comm> {
        self.0.way.fast_path(items)
    }

    /// As [`fast_path`](Self::fast_path) for a collective, which must be the only one that a thread
    /// of this process is in.
    // Two threads that ask at the same moment may both pass. An atomic increment would tell them
    // apart in as many instructions, but it takes 16 ns (x86-64), where all that is recorded of a
    // call takes 5, and no blocking call has a read-modify-write.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn fast_path_collective(&self, items: usize) -> Option<&mpi::Comm> {
        if self.0.recorder.collectives.is_idle() {
            self.fast_path(items)
        } else {
            None
        }
    }

    /// As [`fast_path`](Self::fast_path) for a call that receives at most `bytes` and sends
    /// `items`, 1 if it does not send.
    #[inline(always)]
    pub(crate) fn fast_path_receive(
        &self,
        items: usize,
        bytes: usize,
    ) -> Option<mpi::Unclaimed<&mpi::Comm>> {
        self.0.way.fast_path_receive(items, bytes)
    }

    /// The fast path for a `call` that is one of the library's, recorded as on the slow path;
    /// `None` if it must take that.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn fast_path_recorded(&self, call: Call) -> Option<Recorded<'_, mpi::Comm>> {
        let comm = match call.kind.class {
            Class::Collective => self.fast_path_collective(1),
            Class::Message => self.fast_path(1),
            Class::Local => None,
        }?;
        Some(self.recorded(comm, call))
    }

    /// Records the start of a call on the fast path; `comm` is the library's communicator of this
    /// one.
    #[doc(hidden)]
    #[inline(always)]
    pub fn recorded<'a>(&'a self, comm: &'a mpi::Comm, call: Call) -> Recorded<'a, mpi::Comm> {
        let recorder = &*self.0.recorder;
        let ring = match call.kind.class {
            Class::Collective => &recorder.collectives,
            Class::Message | Class::Local => &recorder.messages,
        };
        Recorded::begin(comm, ring, call)
    }

    /// The test for the fast path, as [`fast_path`](Self::fast_path) makes it.
    pub(crate) fn calls(&self) -> &'static FastPath {
        self.0.way.calls()
    }

    /// The distance of requests in an array of the library's: the logarithm of the bytes.
    #[inline(always)]
    pub(crate) fn request_shift(&self) -> u32 {
        self.0.way.request_shift()
    }

    /// As [`fast_path`](Self::fast_path) for a nonblocking call, which is recorded.
    #[inline(always)]
    pub(crate) fn fast_path_posted(&self, call: Call, items: usize) -> Option<&mpi::Comm> {
        let comm = self.fast_path(items)?;
        self.0.recorder.messages.post(call);
        Some(comm)
    }

    /// As [`fast_path_receive`](Self::fast_path_receive) for a nonblocking call, which is recorded.
    #[inline(always)]
    pub(crate) fn fast_path_receive_posted(
        &self,
        call: Call,
        bytes: usize,
    ) -> Option<mpi::Unclaimed<&mpi::Comm>> {
        let comm = self.fast_path_receive(1, bytes)?;
        self.0.recorder.messages.post(call);
        Some(comm)
    }

    /// Enters a call if this thread may make it now, and records it; keep the returned guard for
    /// the duration of the call.
    #[doc(hidden)]
    #[inline]
    pub fn enter(&self, call: impl Into<Call>) -> Result<CallGuard<'_>> {
        let call = call.into();
        CallGuard::begin(self.let_in(call.operation())?, self, call)
    }

    /// As [`enter`](Self::enter), for a part of `operation` (the C name), which is recorded itself.
    #[doc(hidden)]
    #[inline]
    pub fn enter_unrecorded(&self, operation: &'static str) -> Result<CallGuard<'_>> {
        let mut entered = CallGuard::of(self.let_in(operation)?);
        entered.begin_part(self, operation);
        Ok(entered)
    }

    fn let_in(&self, operation: &'static str) -> Result<Option<Alone<'_>>> {
        callback::none_is_under_way(operation)?;
        callback::do_what_is_left();
        let comm = match self.backend() {
            Backend::Mpi(comm) => comm,
            Backend::InProcess(comm) => return comm.enter(operation),
        };
        let entered = if THREAD_GUARD.is_open() {
            None
        } else {
            THREAD_GUARD.enter(operation)?
        };
        if hold::is_wanted() {
            comm.session.detached.do_what_is_left();
        }
        Ok(entered)
    }

    /// As [`enter`](Self::enter), to complete pending operations: after the end of the runtime was
    /// requested, MPI lives on as long as a communicator does. `None` if this thread may not.
    #[cold]
    pub(crate) fn enter_to_end(&self, operation: &'static str) -> Option<CallGuard<'_>> {
        match self.enter(operation) {
            Ok(entered) => Some(entered),
            Err(error) if error.kind() == ErrorKind::Finalized => Some(CallGuard::freely()),
            Err(_) => None,
        }
    }

    /// Calls the closure of this communicator's backend, if this thread may communicate.
    ///
    /// Frequent calls try [`fast_path`](Self::fast_path) first and do this out of line.
    #[doc(hidden)]
    #[inline]
    pub fn dispatch<R>(
        &self,
        call: impl Into<Call>,
        over_mpi: impl FnOnce(&mpi::Comm) -> Result<R>,
        in_process: impl FnOnce(&in_process::Comm) -> Result<R>,
    ) -> Result<R> {
        self.dispatch_with(
            call,
            (),
            |comm, ()| over_mpi(comm),
            |comm, ()| in_process(comm),
        )
    }

    /// As [`dispatch`](Self::dispatch), for a collective: where ranks compare their calls, all of
    /// them get the same error unless all call it. `ready` is this rank's own check.
    pub(crate) fn dispatch_together<R>(
        &self,
        operation: &'static str,
        ready: Result<()>,
        over_mpi: impl FnOnce(&mpi::Comm) -> Result<R>,
        in_process: impl FnOnce(&in_process::Comm) -> Result<R>,
    ) -> Result<R> {
        self.dispatch_agreed(
            operation,
            || self.all_call(operation, ready),
            |comm, ()| over_mpi(comm),
            |comm, ()| in_process(comm),
        )
    }

    /// As [`dispatch`](Self::dispatch), for a collective with arguments that all ranks first
    /// `agree` on.
    pub(crate) fn dispatch_agreed<A, R>(
        &self,
        operation: &'static str,
        agree: impl FnOnce() -> Result<A>,
        over_mpi: impl FnOnce(&mpi::Comm, A) -> Result<R>,
        in_process: impl FnOnce(&in_process::Comm, A) -> Result<R>,
    ) -> Result<R> {
        let mut entered = self.enter(operation)?;
        let result = agree().and_then(|agreed| match self.backend() {
            Backend::Mpi(comm) => over_mpi(comm, agreed),
            Backend::InProcess(comm) => in_process(comm, agreed),
        });
        entered.note(&result);
        result
    }

    /// As [`dispatch`](Self::dispatch), with a value that only one of the two closures can have,
    /// such as a `&mut`.
    #[doc(hidden)]
    #[inline]
    pub fn dispatch_with<A, R>(
        &self,
        call: impl Into<Call>,
        with: A,
        over_mpi: impl FnOnce(&mpi::Comm, A) -> Result<R>,
        in_process: impl FnOnce(&in_process::Comm, A) -> Result<R>,
    ) -> Result<R> {
        let mut entered = self.enter(call)?;
        let result = match self.backend() {
            Backend::Mpi(comm) => over_mpi(comm, with),
            Backend::InProcess(comm) => in_process(comm, with),
        };
        entered.note(&result);
        result
    }
}

impl<'a> mpi::Unclaimed<&'a mpi::Comm> {
    /// Records the start of a call on this communicator of `whole`.
    #[inline(always)]
    pub(crate) fn recorded(
        self,
        whole: &'a Communicator,
        call: Call,
    ) -> mpi::Unclaimed<Recorded<'a, mpi::Comm>> {
        mpi::Unclaimed(whole.recorded(self.0, call))
    }
}

impl Callee for Communicator {
    #[inline(always)]
    fn recorder(&self) -> &Arc<Recorder> {
        &self.0.recorder
    }

    fn limit(&self, operation: &str) -> Option<Limit> {
        time_limit::limit_of(self).or_else(|| time_limit::of_what_is_not_compared(self, operation))
    }

    fn threads(&self) -> Option<Arc<dyn Threads>> {
        match self.backend() {
            Backend::Mpi(_) => None,
            Backend::InProcess(comm) => Some(Arc::<World>::clone(comm.ranks())),
        }
    }
}
