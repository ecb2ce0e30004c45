//! Recorded calls on the fast path.

use std::fmt;
use std::ops::Deref;

use super::call::Call;
use super::ring::Ring;
use crate::mpi;

/// The library's communicator for one call, which is told when the library has returned.
pub trait Over: Deref<Target = mpi::Comm> {
    /// Records that the library has returned, with or without an error.
    fn over(&self);
}

/// Records nothing: for a part of a call that is recorded itself.
impl Over for &mpi::Comm {
    #[inline(always)]
    fn over(&self) {}
}

/// The library's communicator, for one call whose start is recorded.
#[must_use = "until it is over the call counts as under way"]
pub struct Recorded<'a> {
    comm: &'a mpi::Comm,
    ring: &'a Ring,
}

impl<'a> Recorded<'a> {
    /// Records the start of a call.
    #[inline(always)]
    pub(crate) fn begin(comm: &'a mpi::Comm, ring: &'a Ring, call: Call) -> Self {
        ring.begin(call);
        Self { comm, ring }
    }
}

impl Deref for Recorded<'_> {
    type Target = mpi::Comm;

    #[inline(always)]
    fn deref(&self) -> &mpi::Comm {
        self.comm
    }
}

impl Over for Recorded<'_> {
    // Called before the return code is looked at: what follows is then one branch.
    #[inline(always)]
    fn over(&self) {
        self.ring.end();
    }
}

impl fmt::Debug for Recorded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded").finish_non_exhaustive()
    }
}
