//! How ranks find each other before a library of their own can: one small exchange of bytes.

use ranks_comm::Result;

mod communicator;
pub(crate) mod readiness;
pub(crate) mod tcp_store;
mod threads;

pub use tcp_store::{TcpStore, TcpStoreOptions};
pub use threads::ThreadBootstrap;

/// A few ranks that can tell each other something, however slowly: what NCCL and NVSHMEM are started over.
///
/// | ranks | |
/// |---|---|
/// | of a job of MPI, or in process | a [`Communicator`](ranks_comm::Communicator) |
/// | that are threads of one process | [`ThreadBootstrap`] |
/// | that are processes and know an address, as torchrun tells it | [`TcpStore`] |
///
/// What is passed may be a secret, as the id of an NCCL communicator is: it is in no error and no log.
pub trait Bootstrap {
    /// Which of the ranks this one is, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// Gives every rank what all of them pass, in the order of ranks. Collective; contributions may be of different lengths.
    ///
    /// # Errors
    /// What the transport reports, the same kind on all ranks that still can be told; [`TimedOut`](ranks_comm::ErrorKind::TimedOut)
    /// if a rank does not come and the transport has a time limit.
    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>>;
}

/// Ranks in words: "ranks 1, 4 and 5", or the first of them where they are many.
fn listed(ranks: impl Iterator<Item = usize>) -> String {
    const SHOWN: usize = 8;
    let ranks: Vec<usize> = ranks.collect();
    let shown: Vec<String> = ranks.iter().take(SHOWN).map(usize::to_string).collect();
    match (shown.as_slice(), ranks.len()) {
        ([], _) => "nobody".to_owned(),
        ([one], _) => format!("rank {one}"),
        ([first @ .., last], all) if all <= SHOWN => {
            format!("ranks {} and {last}", first.join(", "))
        }
        (shown, all) => format!("ranks {} and {} others", shown.join(", "), all - SHOWN),
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn many_ranks_are_told_in_few_words() {
        assert_eq!(listed(3..4), "rank 3");
        assert_eq!(listed([1, 4, 5].into_iter()), "ranks 1, 4 and 5");
        assert_eq!(listed(0..100), "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 92 others");
    }
}
