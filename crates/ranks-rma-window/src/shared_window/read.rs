//! The phase in which all ranks read all segments.

use bytemuck::Pod;
use ranks_comm::Result;

use super::steps::Goal;
use super::{FENCE, Read, SharedWindow, Write};

impl<T: Pod> SharedWindow<T, Read> {
    /// The segment of `rank`, where it lies. No call of any library: it costs what indexing a slice
    /// of slices does.
    ///
    /// # Panics
    /// If there is no such rank.
    ///
    /// MPI 5.0 §12.2.3 (`MPI_Win_shared_query`).
    #[doc(alias = "MPI_Win_shared_query")]
    #[doc(alias = "MPI_Win_shared_query_c")]
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn segment(&self, rank: usize) -> &[T] {
        // SAFETY: in this phase, which this rank does not leave while its window is borrowed,
        // nobody writes.
        unsafe { self.segments.slice(rank) }
    }

    /// This rank's own segment.
    #[inline]
    #[must_use]
    pub fn mine(&self) -> &[T] {
        self.segment(self.rank())
    }

    /// All segments, in the order of ranks.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.size()).map(|rank| self.segment(rank))
    }

    /// The segments of all ranks as one slice, if there is nothing between them: with
    /// [`Spacing::Packed`](super::Spacing::Packed), and wherever lengths happen to fill the space.
    #[inline]
    #[must_use]
    pub fn whole(&self) -> Option<&[T]> {
        // SAFETY: in this phase, which this rank does not leave while its window is borrowed,
        // nobody writes.
        unsafe { self.segments.whole() }
    }

    /// Changes to the phase of writing, on all ranks together: no rank reads any more. Collective.
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
