//! Steps of a rank between two looks at what the others do in memory.

use ranks_comm::backend::{Backend, Watch};
use ranks_comm::{Communicator, Result, Source, Tag};

/// The other ranks of a window, as one that waits for some of them has them.
pub(super) struct Peers<'a> {
    node: &'a Communicator,
    /// Among threads.
    watch: Option<Watch>,
}

impl<'a> Peers<'a> {
    pub(super) fn of(node: &'a Communicator) -> Self {
        Self { node, watch: None }
    }

    /// Over MPI lets the library go on with messages, since a rank that is waited for may need
    /// them; in process finds out if one that is `awaited` has ended.
    ///
    /// # Errors
    /// In process [`PeerFailed`](ranks_comm::ErrorKind::PeerFailed) if a rank failed, or an awaited
    /// one has ended; what the library reports.
    pub(super) fn look(
        &mut self,
        operation: &'static str,
        awaited: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let threads = match self.node.backend() {
            Backend::InProcess(threads) => threads,
            Backend::Mpi(_) => {
                let probed = self.node.iprobe(Source::Any, Tag::Any);
                return probed.map(drop).map_err(|error| error.of(operation));
            }
        };
        let watch = self.watch.get_or_insert_with(|| threads.watch());
        for rank in 0..watch.size() {
            // What it did before it ended is looked at again.
            let look = || if awaited(rank) { Err(rank) } else { Ok(()) };
            watch.try_for(operation, look)?;
        }
        Ok(())
    }
}
