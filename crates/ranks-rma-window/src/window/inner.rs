//! State common to windows in all of their epochs, and dispatch to their backend.
#![allow(unsafe_code)]

use std::fmt;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::thread;

use bytemuck::Pod;
use ranks_collectives::backend::{agree, agree_in_any_case};
use ranks_comm::backend::{CallGuard, MpiComm, TypeOf, in_callback, last_words};
use ranks_comm::record::{Call, Class, Kind, Recorded};
use ranks_comm::{Communicator, Error, ErrorKind, Result};

use crate::epoch::epochs::{Epochs, Hold};
use crate::epoch::table::{Extent, Table, TargetRange, Targets};
use crate::in_process::LocalWindow;
use crate::mpi;

const UNLOCK: &Kind = &Kind::of(Class::Message, "MPI_Win_unlock");
const UNLOCK_ALL: &Kind = &Kind::of(Class::Message, "MPI_Win_unlock_all");

/// Backend of a window.
pub(crate) enum Backend<T: Pod> {
    Mpi(mpi::Window<T>),
    InProcess(LocalWindow),
}

/// A window in any state of access.
pub(crate) struct Inner<T: Pod> {
    /// The same ranks, for the collectives of this window alone.
    pub(crate) comm: Communicator,
    pub(crate) table: Table,
    pub(crate) backend: Backend<T>,
    pub(crate) epochs: Arc<Epochs>,
    /// True if its memory on this rank is that of a vector.
    pub(crate) of_vec: bool,
}

/// Completion of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// Complete when the call returns.
    AtOnce,
    /// Completed later, by the caller.
    Later,
}

/// Terms of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'t> {
    /// The ranks whose memory is open to it.
    pub(crate) targets: Targets<'t>,
    pub(crate) completion: Completion,
}

impl<T: Pod> Inner<T> {
    /// Number of elements of a rank; 0 if there is no such rank.
    pub(crate) fn len_of(&self, rank: usize) -> usize {
        self.table.part(rank).map_or(0, |part| part.len)
    }

    /// This rank's elements.
    ///
    /// # Safety
    /// Nobody writes to them while the slice is there.
    pub(crate) unsafe fn local(&self) -> &[T] {
        let (first, len) = self.local_parts();
        // SAFETY: so many elements are there, which were zeroed or are those of a vector; the rest
        // by contract.
        unsafe { slice::from_raw_parts(first.as_ptr(), len) }
    }

    /// This rank's elements, to be written to.
    ///
    /// # Safety
    /// Nobody else accesses them while the slice is there.
    #[expect(
        clippy::mut_from_ref,
        reason = "it is the caller who knows that nobody else has them"
    )]
    pub(crate) unsafe fn local_mut(&self) -> &mut [T] {
        let (first, len) = self.local_parts();
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(first.as_ptr(), len) }
    }

    fn local_parts(&self) -> (NonNull<T>, usize) {
        let window = match &self.backend {
            Backend::Mpi(window) => return window.local(),
            Backend::InProcess(window) => window,
        };
        let part = self.table.part(self.comm.rank());
        let Extent { len, start } = part.unwrap_or(Extent { len: 0, start: 0 });
        let first = window.base().wrapping_add(start).cast();
        // There may be no memory, and its address need not be aligned for such elements.
        let first = NonNull::new(first).filter(|_| len * size_of::<T>() > 0);
        (first.unwrap_or(NonNull::dangling()), len)
    }

    pub(crate) fn describe(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        f.debug_struct(name)
            .field("name", &self.comm.name_in_reports())
            .field("rank", &self.comm.rank())
            .field("table", &self.table)
            .finish_non_exhaustive()
    }

    /// Does something on whichever backend this is, if this thread may.
    pub(crate) fn dispatch<R>(
        &self,
        call: impl Into<Call>,
        over_mpi: impl FnOnce(&mpi::Window<T>) -> Result<R>,
        in_process: impl FnOnce(&LocalWindow) -> Result<R>,
    ) -> Result<R> {
        self.dispatch_with(
            call,
            (),
            |window, ()| over_mpi(window),
            |window, ()| in_process(window),
        )
    }

    /// As [`dispatch`](Self::dispatch), with an argument that only one of the two ways can have,
    /// such as a `&mut`.
    pub(crate) fn dispatch_with<A, R>(
        &self,
        call: impl Into<Call>,
        with: A,
        over_mpi: impl FnOnce(&mpi::Window<T>, A) -> Result<R>,
        in_process: impl FnOnce(&LocalWindow, A) -> Result<R>,
    ) -> Result<R> {
        let mut entered = self.comm.enter(call)?;
        let result = match &self.backend {
            Backend::Mpi(window) => over_mpi(window, with),
            Backend::InProcess(window) => in_process(window, with),
        };
        entered.note(&result);
        result
    }

    /// As [`dispatch`](Self::dispatch), for one call of the library, which goes ahead at once if it
    /// may.
    // The call is made for each of the two paths: that of the fast one stays in registers.
    #[inline]
    pub(crate) fn call(
        &self,
        call: impl Into<Call> + Copy,
        over_mpi: impl FnOnce(&mpi::Window<T>) -> Result<()>,
        in_process: impl FnOnce(&LocalWindow) -> Result<()>,
    ) -> Result<()> {
        match self.fast_path(call.into()) {
            Some((comm, window)) => comm.during(|_| over_mpi(window)),
            None => self.dispatch(call, over_mpi, in_process),
        }
    }

    /// As [`call`](Self::call), to end what this thread has started.
    #[inline(always)]
    pub(crate) fn call_to_end(
        &self,
        call: impl Into<Call> + Copy,
        over_mpi: impl FnOnce(&mpi::Window<T>) -> Result<()>,
        in_process: impl FnOnce(&LocalWindow) -> Result<()>,
    ) -> Result<()> {
        if let Some((comm, window)) = self.fast_path(call.into()) {
            return comm.during(|_| over_mpi(window));
        }
        let _entered = self.enter_to_end(call);
        match &self.backend {
            Backend::Mpi(window) => over_mpi(window),
            Backend::InProcess(window) => in_process(window),
        }
    }

    #[inline(always)]
    fn fast_path(&self, call: Call) -> Option<(Recorded<'_, MpiComm>, &mpi::Window<T>)> {
        match &self.backend {
            Backend::Mpi(window) => Some((self.comm.fast_path_recorded(call)?, window)),
            Backend::InProcess(_) => None,
        }
    }

    /// Lets go of a lock that this thread has taken.
    #[inline]
    pub(crate) fn unlock(&self, hold: Hold) -> Result<()> {
        match hold {
            Hold::All => self.call_to_end(
                UNLOCK_ALL,
                |window| window.unlock(hold),
                |window| window.unlock_all(),
            ),
            Hold::Rank(rank) => self.call_to_end(
                (UNLOCK, rank),
                |window| window.unlock(hold),
                |window| window.unlock(rank),
            ),
        }
    }

    /// Lets go of the locks whose guards were forgotten: of all, whatever becomes of one.
    pub(crate) fn unlock_held(&self) -> Result<()> {
        let mut outcome = Ok(());
        for hold in self.epochs.take_held() {
            outcome = outcome.and(self.unlock(hold));
        }
        outcome
    }

    /// Does an operation on `items` (of their datatype) at `place`: at once if it may go ahead,
    /// else after a closer look.
    #[inline(always)]
    #[expect(
        clippy::too_many_arguments,
        reason = "nothing need be built in memory before the call"
    )]
    pub(crate) fn access<A>(
        &self,
        operation: &'static str,
        completion: Completion,
        items: usize,
        place: TargetRange,
        arguments: A,
        over_mpi: impl FnOnce(&mpi::Window<T>, A) -> Result<()>,
        in_process: impl FnOnce(&LocalWindow, A) -> Result<()>,
    ) -> Result<()> {
        match (self.comm.fast_path(items), &self.backend) {
            (Some(_), Backend::Mpi(window)) => {
                over_mpi(window, arguments)?;
                self.end(window, completion, place);
                Ok(())
            }
            _ => self.access_in_full(
                operation, completion, items, place, arguments, over_mpi, in_process,
            ),
        }
    }

    #[cold]
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "as above")]
    fn access_in_full<A>(
        &self,
        operation: &'static str,
        completion: Completion,
        items: usize,
        place: TargetRange,
        arguments: A,
        over_mpi: impl FnOnce(&mpi::Window<T>, A) -> Result<()>,
        in_process: impl FnOnce(&LocalWindow, A) -> Result<()>,
    ) -> Result<()> {
        let elements = items / TypeOf::<T>::items().max(1);
        let call = Call::of(Kind::named_of::<T>(operation)).items(elements);
        let mut entered = self.comm.enter(call.peer(place.rank))?;
        if items == 0 {
            return Ok(());
        }
        let result = match &self.backend {
            Backend::Mpi(window) => {
                over_mpi(window, arguments).map(|()| self.end(window, completion, place))
            }
            Backend::InProcess(window) => in_process(window, arguments),
        };
        entered.note(&result);
        result
    }

    /// Completes an operation that was started, if it is to be complete when the call returns.
    #[inline(always)]
    fn end(&self, window: &mpi::Window<T>, completion: Completion, place: TargetRange) {
        if completion == Completion::AtOnce
            && let Err(error) = window.flush(place.rank)
        {
            self.abort(&error);
        }
    }

    /// The same error on every rank unless all of them are about to call `operation`; asked where
    /// ranks compare their collective calls.
    #[inline]
    pub(crate) fn agree(&self, operation: &'static str) -> Result<()> {
        // On the fast path ranks compare nothing.
        if self.comm.fast_path_collective(1).is_some() {
            return Ok(());
        }
        agree(&self.comm, operation)
    }

    /// The same error on every rank unless all of them are about to call `operation`, which takes
    /// the window to another state, or changes its memory: a rank has a slice of its elements only
    /// while no other rank may access them, so that they agree on it in every build.
    pub(crate) fn agree_on_state(&self, operation: &'static str) -> Result<()> {
        match &self.backend {
            // It ends if a rank lets go of the window meanwhile.
            Backend::InProcess(window) if !self.comm.compares_calls() => {
                let mut entered = self.comm.enter(operation)?;
                let barrier = window.barrier(operation);
                let result = barrier.map_err(|error| self.comm.mismatched(error));
                entered.note(&result);
                result
            }
            _ => agree_in_any_case(&self.comm, operation),
        }
    }

    /// Lets this thread in to end what it has started: after the runtime was asked to end, MPI
    /// lives on as long as there is a communicator.
    pub(crate) fn enter_to_end(&self, call: impl Into<Call>) -> Option<CallGuard<'_>> {
        let call = call.into();
        loop {
            match self.comm.enter(call) {
                Ok(entered) => return Some(entered),
                Err(error) if error.kind() == ErrorKind::Finalized => return None,
                // The library waits for this very thread: its turn never comes.
                Err(error) if in_callback() => self.abort(&error),
                // What begins on a thread ends there, so that thread may; at MPI_THREAD_SERIALIZED
                // it is another one's turn.
                Err(_) => thread::yield_now(),
            }
        }
    }

    /// Ends the job: operations could not be completed, so memory that was lent to them cannot be
    /// given back.
    #[cold]
    #[inline(never)]
    pub(crate) fn abort(&self, error: &Error) -> ! {
        last_words(format_args!(
            "operations on a window could not be completed, and the job is aborted, because the memory that they \
             use cannot be given back: {error}"
        ));
        self.comm.abort(101)
    }
}
