//! Steps of a rank between two looks at what the others do in memory.

use ranks_comm::backend::Backend;
use ranks_comm::{Communicator, Result, Source, Tag};

/// Over MPI lets the library go on with messages, since a rank that is waited for may need them; in
/// process finds out if one that is `awaited` has ended.
///
/// # Errors
/// In process [`PeerFailed`](ranks_comm::ErrorKind::PeerFailed) if a rank failed, or an awaited one
/// has ended; what the library reports.
pub(super) fn look(
    node: &Communicator,
    operation: &'static str,
    awaited: impl Fn(usize) -> bool,
) -> Result<()> {
    let threads = match node.backend() {
        Backend::InProcess(threads) => threads,
        Backend::Mpi(_) => {
            let probed = node.iprobe(Source::Any, Tag::Any);
            return probed.map(drop).map_err(|error| error.of(operation));
        }
    };
    for rank in 0..threads.size() {
        // What it did before it ended is looked at again.
        let look = || if awaited(rank) { Err(rank) } else { Ok(()) };
        threads.try_for(operation, look)?;
    }
    Ok(())
}

/// In process returns an error if a rank has given up a step of all, unless this call has a time
/// limit of its own.
pub(super) fn nobody_gave_up(node: &Communicator, operation: &'static str) -> Result<()> {
    match node.backend() {
        Backend::InProcess(threads) => threads.nobody_gave_up(operation),
        Backend::Mpi(_) => Ok(()),
    }
}

/// In process gives up a step of all, at a time limit.
pub(super) fn give_up(node: &Communicator) {
    if let Backend::InProcess(threads) = node.backend() {
        threads.give_up();
    }
}
