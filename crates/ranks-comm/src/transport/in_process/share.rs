//! Sharing of one object among all ranks of a communicator.

use std::sync::Arc;

use super::collective::Collective;
use super::comm::Comm;
use crate::result::{Error, ErrorKind, Result};

impl Comm {
    /// Shares one object among all ranks, which rank 0 makes. Collective.
    ///
    /// # Errors
    /// [`ErrorKind::PeerFailed`] if a rank has ended; [`ErrorKind::Mismatch`] if ranks expect
    /// different types.
    pub fn share<S: Send + Sync + 'static>(&self, make: impl FnOnce() -> S) -> Result<Arc<S>> {
        let shelf = &self.place.world.shared;
        let call = Collective::named("share");
        let mut number = [0u8; 8];
        if self.rank() == 0 {
            let thing = Arc::new(make());
            let others = Arc::clone(&thing);
            number = shelf.leave(others, self.size() - 1).to_ne_bytes();
            for dest in 1..self.size() {
                self.coll_send(call, dest, &number)?;
            }
            return Ok(thing);
        }
        self.coll_recv(call, 0, &mut number)?;
        let thing = shelf.take(u64::from_ne_bytes(number));
        let thing = thing.and_then(|thing| thing.downcast().ok());
        thing.ok_or_else(|| {
            let why =
                "ranks make different things together; all must call the same in the same order";
            Error::new(ErrorKind::Mismatch, "share", why)
        })
    }
}
