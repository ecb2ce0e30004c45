//! How ranks find each other before a library of their own can: one small exchange of bytes.

use ranks_comm::Result;

/// A few ranks that can tell each other something, however slowly: what NCCL and NVSHMEM are started over.
///
/// A [`Communicator`](ranks_comm::Communicator) is one, on MPI or in process.
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
