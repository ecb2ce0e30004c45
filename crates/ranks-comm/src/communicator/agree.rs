//! Agreement before a collective call whose arguments must be equal on all ranks.

use crate::call::identity::digest;
use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::join::Join;

impl Communicator {
    /// Joins the words of all ranks. Collective.
    pub(crate) fn join(
        &self,
        operation: &'static str,
        words: [u64; 2],
        join: Join,
    ) -> Result<[u64; 2]> {
        self.dispatch(
            operation,
            |comm| {
                self.all_call(operation, Ok(()))?;
                comm.join(words, join)
            },
            |comm| {
                self.all_call(operation, Ok(()))?;
                comm.join(words, join)
            },
        )
    }

    /// Returns the same error on every rank unless all of them pass the same words. Collective.
    pub(crate) fn agree_on(
        &self,
        operation: &'static str,
        words: impl IntoIterator<Item = u64>,
    ) -> Result<()> {
        let digest = digest(words);
        let [ones, zeros] = self.join(operation, [digest, !digest], Join::And)?;
        if ones == !zeros {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Argument,
            operation,
            "ranks passed different arguments; all must pass the same",
        ))
    }
}
