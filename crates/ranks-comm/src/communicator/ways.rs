//! How a call gets to what stands behind a communicator: at once on the express way, or after all questions are asked.

use super::Communicator;
use crate::backend::Backend;
use crate::callback;
use crate::entered::Entered;
use crate::error::{ErrorKind, Result};
use crate::express::Express;
use crate::record::{Call, Class, Recorded};
use crate::{in_process, mpi};

impl Communicator {
    /// The library's communicator, if a call that moves `items` (of its datatype, in one block) may go ahead at once;
    /// `None` if it must be looked at more closely, as [`dispatch`](Self::dispatch) does.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn express(&self, items: usize) -> Option<&mpi::Comm> {
        self.0.way.express(items)
    }

    /// The same for a collective, which must be the only one that a thread of this process is in.
    // Two that ask at the same moment may both be let in. To count by a locked addition would tell them apart in as many instructions, but
    // it takes 16 ns (x86-64), where all that is recorded of a call takes 5, and no blocking call has a read-modify-write.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn express_collective(&self, items: usize) -> Option<&mpi::Comm> {
        if self.0.recorder.collectives.is_idle() {
            self.express(items)
        } else {
            None
        }
    }

    /// The same for a call that receives at most `bytes`, whatever arrives, and sends `items`, 1 if it does not send.
    #[inline(always)]
    pub(crate) fn express_receive(
        &self,
        items: usize,
        bytes: usize,
    ) -> Option<mpi::Unclaimed<&mpi::Comm>> {
        self.0.way.express_receive(items, bytes)
    }

    /// Records that a call begins, for which `comm`, this one's, was got by an express way.
    #[doc(hidden)]
    #[inline(always)]
    pub fn recorded<'a>(&'a self, comm: &'a mpi::Comm, call: Call) -> Recorded<'a> {
        let recorder = &*self.0.recorder;
        let ring = match call.kind.class {
            Class::Collective => &recorder.collectives,
            Class::Message | Class::Local => &recorder.messages,
        };
        Recorded::begin(comm, ring, call)
    }

    /// Which calls may go ahead at once, as [`express`](Self::express) asks.
    pub(crate) fn calls(&self) -> &'static Express {
        self.0.way.calls()
    }

    /// Both ways for who makes many calls on this thread.
    #[inline(always)]
    pub(crate) fn lanes(&self) -> mpi::Lanes<'_> {
        self.0.way.lanes(&self.0.recorder.messages)
    }

    /// Decides whether a call may go ahead on this thread now, and records it; keep what it returns for the call.
    #[doc(hidden)]
    #[inline]
    pub fn enter(&self, call: impl Into<Call>) -> Result<Entered<'_>> {
        let call = call.into();
        let mut entered = self.let_in(call.operation())?;
        entered.begin(self, call)?;
        Ok(entered)
    }

    /// As [`enter`](Self::enter), for a part of `operation` (the C name), which is recorded itself.
    #[doc(hidden)]
    #[inline]
    pub fn enter_unrecorded(&self, operation: &'static str) -> Result<Entered<'_>> {
        let mut entered = self.let_in(operation)?;
        entered.begin_part(self, operation);
        Ok(entered)
    }

    #[inline]
    fn let_in(&self, operation: &'static str) -> Result<Entered<'_>> {
        callback::none_is_under_way(operation)?;
        callback::do_what_is_left();
        match self.backend() {
            Backend::Mpi(_) if mpi::GATE.is_open() => Ok(Entered::freely()),
            Backend::Mpi(_) => mpi::GATE.enter(operation),
            Backend::InProcess(comm) => comm.enter(operation),
        }
    }

    /// As [`enter`](Self::enter), to end what was begun: after the runtime was asked to end, MPI lives on as long as there is a
    /// communicator. `None` if this thread may not.
    #[cold]
    pub(crate) fn enter_to_end(&self, operation: &'static str) -> Option<Entered<'_>> {
        match self.enter(operation) {
            Ok(entered) => Some(entered),
            Err(error) if error.kind() == ErrorKind::Finalized => Some(Entered::freely()),
            Err(_) => None,
        }
    }

    /// Makes a call on whichever backend this is, if this thread may.
    ///
    /// What is called often tries [`express`](Self::express) first and does this out of line.
    #[doc(hidden)]
    #[inline]
    pub fn dispatch<R>(
        &self,
        call: impl Into<Call>,
        over_mpi: impl FnOnce(&mpi::Comm) -> Result<R>,
        in_process: impl FnOnce(&in_process::Comm) -> Result<R>,
    ) -> Result<R> {
        let mut entered = self.enter(call)?;
        let result = match self.backend() {
            Backend::Mpi(comm) => over_mpi(comm),
            Backend::InProcess(comm) => in_process(comm),
        };
        entered.note(&result);
        result
    }

    /// As [`dispatch`](Self::dispatch), for what all ranks call together: the same error on all of them unless they do, where they
    /// compare their calls. `ready` says whether this rank can.
    pub(crate) fn dispatch_together<R>(
        &self,
        operation: &'static str,
        ready: Result<()>,
        over_mpi: impl FnOnce(&mpi::Comm) -> Result<R>,
        in_process: impl FnOnce(&in_process::Comm) -> Result<R>,
    ) -> Result<R> {
        let mut entered = self.enter(operation)?;
        let result = self
            .all_call(operation, ready)
            .and_then(|()| match self.backend() {
                Backend::Mpi(comm) => over_mpi(comm),
                Backend::InProcess(comm) => in_process(comm),
            });
        entered.note(&result);
        result
    }

    /// As [`dispatch`](Self::dispatch), with something that only one of the two ways can have, such as a `&mut`.
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
