//! A communicator tells its ranks what they need to know.

use ranks_collectives::VaryingCollectives;
use ranks_comm::{Communicator, Result};

use super::Bootstrap;

impl Bootstrap for Communicator {
    fn rank(&self) -> usize {
        Communicator::rank(self)
    }

    fn size(&self) -> usize {
        Communicator::size(self)
    }

    /// An [`allgatherv`](VaryingCollectives::allgatherv) on the communicator itself, and so in the
    /// same order as its other collectives on every rank. There is no duplicate that nobody else
    /// has: making one is collective as well, and would be kept to the end.
    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let all = self.allgatherv(mine)?;
        Ok(all.iter_blocks().map(<[u8]>::to_vec).collect())
    }
}
