//! Waiting for changes that another rank makes to shared memory, of which no message tells.

use super::comm::Comm;
use crate::call::limit;
use crate::result::Result;

impl Comm {
    /// Waits until `look` returns a value. Until then it returns the rank that it waits for, or any
    /// one of several.
    ///
    /// It is called again each time that this rank is woken, with nothing locked that
    /// [`wake`](Self::wake) needs before the change is made: a rank that wakes must hold no lock
    /// that `look` takes.
    ///
    /// # Errors
    /// [`PeerFailed`](crate::ErrorKind::PeerFailed) if a rank failed, or the awaited one has ended.
    pub fn wait_for<R>(
        &self,
        operation: &'static str,
        mut look: impl FnMut() -> Result<R, usize>,
    ) -> Result<R> {
        self.ranks().wait_for(operation, self.place.rank, || {
            look().map_err(|awaited| (awaited, self.members[awaited]))
        })
    }

    /// As [`wait_for`](Self::wait_for), but nonblocking: `None` if there is no value yet.
    ///
    /// # Errors
    /// Those of [`wait_for`](Self::wait_for).
    pub fn try_for<R>(
        &self,
        operation: &'static str,
        mut look: impl FnMut() -> Result<R, usize>,
    ) -> Result<Option<R>> {
        let mut look = || look().map_err(|awaited| (awaited, self.members[awaited]));
        self.ranks().look_for(operation, self.place.rank, &mut look)
    }

    /// Tells `rank` to look again.
    pub fn wake(&self, rank: usize) {
        self.ranks().wake(self.members[rank]);
    }

    /// Tells all ranks to look again.
    pub fn wake_all(&self) {
        self.ranks().wake_each(self.members.iter().copied());
    }

    /// Returns an error if a rank has given up what all of them do together, unless this call has a
    /// time limit of its own.
    ///
    /// # Errors
    /// [`PeerFailed`](crate::ErrorKind::PeerFailed), [`Revoked`](crate::ErrorKind::Revoked).
    pub fn nobody_gave_up(&self, operation: &'static str) -> Result<()> {
        self.goes_on(operation, limit::is_limited)
    }

    /// Gives up what all ranks do together, for all of them and for good, at a time limit.
    pub fn give_up(&self) {
        self.break_off();
    }

    /// Comes to no later round, and ends the waits of those who have come to one for it.
    pub fn leave_others(&self) {
        self.common.board.break_off_between(self.rank, false);
        self.wake_others();
    }

    /// A duplicate for what its ranks share, which nothing else waits on. Collective.
    ///
    /// # Errors
    /// Those of [`share`](Self::share).
    pub fn of_its_own(&self) -> Result<Self> {
        let context = self.share(|| self.ranks().new_context())?;
        Ok(self.child(*context, self.members.clone(), self.rank))
    }
}
