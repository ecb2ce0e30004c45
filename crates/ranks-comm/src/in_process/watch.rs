//! Waiting for what another rank does to memory that both of them see, which no message tells of.

use std::sync::Arc;

use super::comm::Comm;
use super::world::World;
use crate::error::Result;

/// How a rank waits for deeds of the others, and tells them of its own. It does not keep the rank's place.
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
    /// This rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Waits until `look` finds what it looks for. Until then it says for which rank's deed it waits, of several for any.
    ///
    /// It is asked again each time that this rank is woken, with nothing locked that [`wake`](Self::wake) needs before
    /// the deed is done: whoever wakes must hold no lock that `look` takes.
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

    /// As [`wait_for`](Self::wait_for), without waiting: `None` if it is not found yet.
    ///
    /// # Errors
    /// The same.
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
        for &rank in &*self.members {
            self.world.wake(rank);
        }
    }
}
