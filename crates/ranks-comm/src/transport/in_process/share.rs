//! Sharing of one object among all ranks of a communicator, since they are threads of one process.

use std::any::Any;
use std::sync::Arc;

use super::comm::Comm;
use crate::result::{Error, ErrorKind, Result};

/// An object that rank 0 brings, for ranks that know its type.
pub(super) type Shared = Arc<dyn Any + Send + Sync>;

impl Comm {
    /// Shares one object among all ranks, which rank 0 makes. Collective.
    ///
    /// # Errors
    /// [`ErrorKind::PeerFailed`] if a rank has ended, or comes to a time limit before all are here;
    /// [`ErrorKind::TimedOut`]; [`ErrorKind::Mismatch`] if ranks expect different types.
    pub fn share<S: Send + Sync + 'static>(&self, make: impl FnOnce() -> S) -> Result<Arc<S>> {
        const OPERATION: &str = "share";
        let made = (self.rank() == 0).then(|| -> Shared { Arc::new(make()) });
        let of_first = |brought: &[Option<Option<Shared>>]| {
            let all_are_here = brought.iter().all(Option::is_some);
            all_are_here.then(|| brought[0].clone().flatten())
        };
        let shared = self.meet_all(OPERATION, &self.common.shared, made, None, of_first)?;
        let thing = shared.flatten().and_then(|shared| shared.downcast().ok());
        thing.ok_or_else(|| {
            let why =
                "ranks make different things together; all must call the same in the same order";
            Error::new(ErrorKind::Mismatch, OPERATION, why)
        })
    }
}
