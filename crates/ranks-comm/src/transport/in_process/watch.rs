//! Waiting for changes that another rank makes to shared memory, of which no message tells.

use std::sync::Arc;

use super::comm::Comm;
use super::world::World;
use crate::result::Result;

/// A rank's means to wait for changes that the others make, and to tell them of its own. It does
/// not keep the rank's place.
#[derive(Debug, Clone)]
pub struct Watch {
    world: Arc<World>,
    members: Arc<[usize]>,
    rank: usize,
}

impl Comm {
    /// A watch among the ranks of this communicator. Local.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch {
            world: Arc::clone(&self.place.world),
            members: Arc::clone(&self.members),
            rank: self.rank,
        }
    }
}

impl Watch {
    /// The rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.members.len()
    }

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
        let me = self.members[self.rank];
        self.world.wait_for(operation, me, || {
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
        let me = self.members[self.rank];
        self.world.look_for(operation, me, &mut look)
    }

    /// Tells `rank` to look again.
    pub fn wake(&self, rank: usize) {
        self.world.wake(self.members[rank]);
    }

    /// Tells all ranks to look again.
    pub fn wake_all(&self) {
        self.world.wake_each(self.members.iter().copied());
    }
}
