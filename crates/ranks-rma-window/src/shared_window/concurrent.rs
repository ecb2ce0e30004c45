//! The phase in which all ranks load and store all segments through atomics.

use ranks_comm::Result;

use super::steps::Goal;
use super::{Concurrent, FENCE, HasAtomic, SharedWindow, Write};

impl<T: HasAtomic> SharedWindow<T, Concurrent> {
    /// The segment of `rank` as atomics, which work between processes as they do between threads.
    /// No call of any library.
    ///
    /// ```
    /// use std::sync::atomic::Ordering;
    ///
    /// use ranks::{Communicator, Result};
    /// use ranks::rma::SharedWindow;
    ///
    /// /// Each task is done by one of the ranks, whichever comes to it first.
    /// fn share_out(node: &Communicator, tasks: u64, mut work: impl FnMut(u64)) -> Result<()> {
    ///     let window = SharedWindow::<u64>::allocate(node, usize::from(node.rank() == 0))?.concurrent()?;
    ///     let next = &window.segment(0)[0];
    ///     loop {
    ///         let task = next.fetch_add(1, Ordering::Relaxed);
    ///         if task >= tasks {
    ///             return Ok(());
    ///         }
    ///         work(task);
    ///     }
    /// }
    /// # ranks::run(|world| share_out(&world.split_shared(0)?, 10, |task| assert!(task < 10))).unwrap();
    /// ```
    ///
    /// # Panics
    /// If there is no such rank.
    ///
    /// MPI 5.0 §12.2.3 (`MPI_Win_shared_query`).
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn segment(&self, rank: usize) -> &[T::Atomic] {
        // SAFETY: in this phase, which this rank does not leave while its window is borrowed, all
        // access is atomic.
        unsafe { self.segments.atomics(rank) }
    }

    /// This rank's own segment as atomics.
    #[inline]
    #[must_use]
    pub fn mine(&self) -> &[T::Atomic] {
        self.segment(self.rank())
    }

    /// Changes to the phase of writing, on all ranks together: no rank loads or stores through
    /// atomics any more. Collective.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`](ranks_comm::ErrorKind::Mismatch) if a rank does something else with
    /// its window, [`ErrorKind::PeerFailed`](ranks_comm::ErrorKind::PeerFailed) if one has dropped
    /// it, or has ended in process; [`ErrorKind::Finalized`](ranks_comm::ErrorKind::Finalized),
    /// [`ErrorKind::WrongThread`](ranks_comm::ErrorKind::WrongThread), or what the library reports.
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_sync`).
    pub fn fence(mut self) -> Result<SharedWindow<T, Write>> {
        self.pass(FENCE, Goal::Write)?;
        Ok(self.in_phase())
    }
}
