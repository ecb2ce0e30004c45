//! The backend of a communicator, and the fast path to it.
//!
//! Almost every call is one over MPI, in a living runtime, on a thread that may communicate, of at
//! least one item and of no more than an `int` can count, to a library that does not write past
//! buffers. [`CommFastPath::fast_path`] and [`CommFastPath::fast_path_receive`] check all that with
//! one comparison; any other call takes the slow path, which makes the checks one by one and is
//! kept out of line.

use std::hint::unreachable_unchecked;

use super::communicator::Comm;
use super::fault_tolerance;
use crate::call::fast_path::{CLOSED, FastPath};
use crate::call::thread_guard::THREAD_GUARD;
use crate::transport::backend::Backend;
use crate::transport::in_process;

/// A communicator, as `C` holds it, for a receive that need not be matched first: the library stops
/// at the end of the buffer, which is not empty.
pub(crate) struct Unclaimed<C>(pub(crate) C);

/// A backend with the tests for the fast path to it.
pub(crate) struct CommFastPath {
    calls: &'static FastPath,
    receives: &'static FastPath,
    /// [`Comm::request_shift`]; 0 if it is not over MPI.
    request_shift: u32,
    /// If it is not over MPI, both tests are [`CLOSED`], which is always closed.
    backend: Backend,
}

impl CommFastPath {
    pub(crate) fn over_mpi(comm: Comm) -> Self {
        let open = &THREAD_GUARD.fast_path;
        let closed_if = |closed| if closed { &CLOSED } else { open };
        // Where ranks may be lost a blocking collective is one that is begun and waited for.
        let calls = closed_if(comm.compares || fault_tolerance::is_on());
        let receives = closed_if(comm.claims_everything());
        Self {
            calls,
            receives,
            request_shift: comm.request_shift,
            backend: Backend::Mpi(comm),
        }
    }

    pub(crate) fn in_process(comm: in_process::Comm) -> Self {
        Self {
            calls: &CLOSED,
            receives: &CLOSED,
            request_shift: 0,
            backend: Backend::InProcess(comm),
        }
    }

    #[inline(always)]
    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    pub(crate) fn into_backend(self) -> Backend {
        self.backend
    }

    /// The test that [`fast_path`](Self::fast_path) makes.
    pub(crate) fn calls(&self) -> &'static FastPath {
        self.calls
    }

    #[inline(always)]
    pub(crate) fn request_shift(&self) -> u32 {
        self.request_shift
    }

    /// The library's communicator, if a call that moves `items` may take the fast path.
    #[inline(always)]
    pub(crate) fn fast_path(&self, items: usize) -> Option<&Comm> {
        let open = self.calls.takes(items);
        // SAFETY: the way is open.
        open.then(|| unsafe { self.comm() })
    }

    /// As [`fast_path`](Self::fast_path), for a call that sends `items`, 1 if it does not send, and
    /// receives at most `bytes`.
    #[inline(always)]
    pub(crate) fn fast_path_receive(&self, items: usize, bytes: usize) -> Option<Unclaimed<&Comm>> {
        let open = self.receives.takes_both(items, bytes);
        // SAFETY: the way is open.
        open.then(|| Unclaimed(unsafe { self.comm() }))
    }

    /// # Safety
    /// One of the ways was seen open.
    #[inline(always)]
    unsafe fn comm(&self) -> &Comm {
        match &self.backend {
            Backend::Mpi(comm) => comm,
            // SAFETY: by this function's contract a way was open, and those of an in-process
            // backend never are.
            Backend::InProcess(_) => unsafe { unreachable_unchecked() },
        }
    }
}
