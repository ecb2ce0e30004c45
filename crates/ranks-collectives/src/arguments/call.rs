//! The call that arguments are proven for.

use ranks_comm::{Communicator, Result};

use crate::arguments::root::Root;

/// A call, by the C name of its form and its communicator.
#[derive(Clone, Copy)]
pub(crate) struct Call<'c> {
    pub(crate) operation: &'static str,
    pub(crate) comm: &'c Communicator,
}

impl<'c> Call<'c> {
    #[inline(always)]
    pub(crate) fn new(operation: &'static str, comm: &'c Communicator) -> Self {
        Self { operation, comm }
    }

    /// The root `rank`, and whether it is this rank.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank.
    #[inline]
    pub(crate) fn root(self, rank: usize) -> Result<(Root, bool)> {
        let root = Root::new(self.operation, self.comm, rank)?;
        Ok((root, root.rank == self.comm.rank()))
    }
}
