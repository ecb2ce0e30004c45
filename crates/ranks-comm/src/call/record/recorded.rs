//! Recorded calls on the fast path.

use std::fmt;
use std::ops::Deref;

use super::call::Call;
use super::ring::Ring;

/// The library's communicator for one call, which is told when the library has returned.
pub trait Over: Deref {
    /// Records that the library has returned, with or without an error.
    fn over(&self);
}

/// Records nothing: for a part of a call that is recorded itself.
impl<C> Over for &C {
    #[inline(always)]
    fn over(&self) {}
}

/// The library's communicator, for one call whose start is recorded.
#[must_use = "the call counts as in flight until its end is recorded"]
pub struct Recorded<'a, C> {
    comm: &'a C,
    ring: &'a Ring,
}

impl<'a, C> Recorded<'a, C> {
    /// Records the start of a call.
    #[inline(always)]
    pub(crate) fn begin(comm: &'a C, ring: &'a Ring, call: Call) -> Self {
        ring.begin(call);
        Self { comm, ring }
    }

    /// Makes the call, and records that it has returned.
    #[inline(always)]
    pub fn during<R>(self, call: impl FnOnce(&C) -> R) -> R {
        let result = call(self.comm);
        self.over();
        result
    }
}

impl<C> Deref for Recorded<'_, C> {
    type Target = C;

    #[inline(always)]
    fn deref(&self) -> &C {
        self.comm
    }
}

impl<C> Over for Recorded<'_, C> {
    // Called before the return code is looked at: what follows is then one branch.
    #[inline(always)]
    fn over(&self) {
        self.ring.end();
    }
}

impl<C> fmt::Debug for Recorded<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded").finish_non_exhaustive()
    }
}
