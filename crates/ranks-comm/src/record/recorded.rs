//! A call on the express way.

use std::fmt;
use std::ops::Deref;

use super::call::Call;
use super::ring::Ring;
use crate::mpi;

/// The library's communicator for one call, which says when the library has returned.
pub trait Over: Deref<Target = mpi::Comm> {
    /// The library has returned, well or not.
    fn over(&self);
}

/// For a part of a call that is recorded as a whole.
impl Over for &mpi::Comm {
    #[inline(always)]
    fn over(&self) {}
}

/// The library's communicator, for one call that was recorded to begin.
#[must_use = "until it is over the call counts as under way"]
pub struct Recorded<'a> {
    comm: &'a mpi::Comm,
    ring: &'a Ring,
}

impl<'a> Recorded<'a> {
    /// Records that a call begins.
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
