//! The phase in which each rank locks the segments that it loads and stores.

use std::fmt;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use ranks_comm::Result;

use super::held::Held;
use super::segments::Segments;
use super::steps::Goal;
use super::{FENCE, Passive, SharedWindow, Write};

/// Name of a lock in errors.
const LOCK_SHARED: &str = "SharedWindow::lock_shared";
const LOCK_EXCLUSIVE: &str = "SharedWindow::lock_exclusive";
const LOCK_ALL: &str = "SharedWindow::lock_all";

impl<T: Pod> SharedWindow<T, Passive> {
    /// Locks the segment of `rank` to read it, together with other ranks that do; waits for one
    /// that holds it exclusively. Not collective: no other rank calls anything.
    ///
    /// ```
    /// use ranks::{Communicator, Result};
    /// use ranks::rma::SharedWindow;
    ///
    /// /// The work of the others that is left, while they do it.
    /// fn left(node: &Communicator, mine: &[f64]) -> Result<usize> {
    ///     let mut window = SharedWindow::<f64>::allocate(node, mine.len())?;
    ///     window.mine_mut().copy_from_slice(mine);
    ///     let window = window.passive()?;
    ///     for at in 0..mine.len() {
    ///         window.lock_exclusive(node.rank())?[at] = 0.0; // done
    ///     }
    ///     let mut left = 0;
    ///     for rank in 0..node.size() {
    ///         left += window.lock_shared(rank)?.iter().filter(|&&task| task > 0.0).count();
    ///     }
    ///     window.fence()?.free()?;
    ///     Ok(left)
    /// }
    /// # ranks::run(|world| left(&world.split_shared(0)?, &[1.0, 2.0]).map(drop)).unwrap();
    /// ```
    ///
    /// A rank that waits for an exclusive lock comes before those that ask for a shared one and
    /// hold no other lock of this window. Ranks that wait for each other do so until the time
    /// limit, as at any lock: take several in the order of ranks.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](ranks_comm::ErrorKind::Rank) if there is no such rank;
    /// [`ErrorKind::Argument`](ranks_comm::ErrorKind::Argument) if this rank holds a lock on it
    /// already, which its threads can use together;
    /// [`ErrorKind::PeerFailed`](ranks_comm::ErrorKind::PeerFailed) in process, if a rank has
    /// failed, or has ended with a lock of this window;
    /// [`ErrorKind::TimedOut`](ranks_comm::ErrorKind::TimedOut),
    /// [`ErrorKind::Finalized`](ranks_comm::ErrorKind::Finalized),
    /// [`ErrorKind::WrongThread`](ranks_comm::ErrorKind::WrongThread), or what the library reports.
    ///
    /// MPI 5.0 §12.5.3 (`MPI_Win_lock`, `MPI_LOCK_SHARED`).
    #[doc(alias = "MPI_Win_lock")]
    #[doc(alias = "MPI_LOCK_SHARED")]
    pub fn lock_shared(&self, rank: usize) -> Result<LockedShared<'_, T>> {
        let held = self.segments.lock_shared(LOCK_SHARED, rank)?;
        Ok(LockedShared { held, rank })
    }

    /// Locks the segment of `rank` to read and write it; waits for all that hold it. Not
    /// collective.
    ///
    /// # Errors
    /// As [`lock_shared`](Self::lock_shared).
    ///
    /// MPI 5.0 §12.5.3 (`MPI_Win_lock`, `MPI_LOCK_EXCLUSIVE`).
    #[doc(alias = "MPI_Win_lock")]
    #[doc(alias = "MPI_LOCK_EXCLUSIVE")]
    pub fn lock_exclusive(&self, rank: usize) -> Result<LockedExclusive<'_, T>> {
        let held = self.segments.lock_exclusive(LOCK_EXCLUSIVE, rank)?;
        Ok(LockedExclusive { held, rank })
    }

    /// Locks all segments to read them, one after the other. Not collective.
    ///
    /// # Errors
    /// As [`lock_shared`](Self::lock_shared), if this rank holds any lock; nothing is locked then.
    ///
    /// MPI 5.0 §12.5.3 (`MPI_Win_lock_all`).
    #[doc(alias = "MPI_Win_lock_all")]
    pub fn lock_all(&self) -> Result<LockedAll<'_, T>> {
        let held = self.segments.lock_all(LOCK_ALL)?;
        Ok(LockedAll { held })
    }

    /// Changes to the phase of writing, on all ranks together: no rank holds a lock any more.
    /// Collective.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`](ranks_comm::ErrorKind::Mismatch) if a rank does something else with
    /// its window, [`ErrorKind::PeerFailed`](ranks_comm::ErrorKind::PeerFailed) if one has dropped
    /// it, or has ended in process; [`ErrorKind::Finalized`](ranks_comm::ErrorKind::Finalized),
    /// [`ErrorKind::WrongThread`](ranks_comm::ErrorKind::WrongThread), or what the library reports.
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_sync`).
    pub fn fence(mut self) -> Result<SharedWindow<T, Write>> {
        self.segments.leave_forgotten();
        self.pass(FENCE, Goal::Write)?;
        Ok(self.in_phase())
    }
}

/// A segment that this rank reads under a lock; from
/// [`lock_shared`](SharedWindow::lock_shared). It derefs to `[T]`, and the lock is released when it
/// is dropped, which waits for nobody.
#[doc(alias = "MPI_Win_unlock")]
#[must_use = "the segment is unlocked as soon as this is dropped"]
pub struct LockedShared<'a, T: Pod> {
    held: Held<'a, T>,
    rank: usize,
}

/// A segment that this rank reads and writes under a lock; from
/// [`lock_exclusive`](SharedWindow::lock_exclusive). It derefs to `[T]`, and the lock is released
/// when it is dropped, which waits for nobody.
#[doc(alias = "MPI_Win_unlock")]
#[must_use = "the segment is unlocked as soon as this is dropped"]
pub struct LockedExclusive<'a, T: Pod> {
    held: Held<'a, T>,
    rank: usize,
}

/// All segments, which this rank reads under locks; from [`lock_all`](SharedWindow::lock_all). The
/// locks are released when it is dropped, which waits for nobody.
#[doc(alias = "MPI_Win_unlock_all")]
#[must_use = "the segments are unlocked as soon as this is dropped"]
pub struct LockedAll<'a, T: Pod> {
    held: Held<'a, T>,
}

impl<T: Pod> Deref for LockedShared<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        let segments: &Segments<T> = self.held.segments();
        // SAFETY: whoever writes to the segment in this phase holds its lock exclusively, which
        // nobody does while this one, which is borrowed, shares it.
        unsafe { segments.slice(self.rank) }
    }
}

impl<T: Pod> Deref for LockedExclusive<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        let segments: &Segments<T> = self.held.segments();
        // SAFETY: this one, which is borrowed, alone holds the lock of the segment, which whoever
        // touches it in this phase does.
        unsafe { segments.slice(self.rank) }
    }
}

impl<T: Pod> DerefMut for LockedExclusive<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        let segments: &Segments<T> = self.held.segments();
        // SAFETY: as above; it is borrowed for the purpose.
        unsafe { segments.slice_mut(self.rank) }
    }
}

impl<T: Pod> LockedAll<'_, T> {
    /// The segment of `rank`.
    ///
    /// # Panics
    /// If there is no such rank.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn segment(&self, rank: usize) -> &[T] {
        let segments: &Segments<T> = self.held.segments();
        // SAFETY: whoever writes to a segment in this phase holds its lock exclusively, which
        // nobody does while this one, which is borrowed, shares all locks.
        unsafe { segments.slice(rank) }
    }

    /// All segments, in the order of ranks.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.held.segments().size()).map(|rank| self.segment(rank))
    }
}

impl<T: Pod> fmt::Debug for LockedShared<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "LockedShared", self.rank)
    }
}

impl<T: Pod> fmt::Debug for LockedExclusive<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "LockedExclusive", self.rank)
    }
}

impl<T: Pod> fmt::Debug for LockedAll<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockedAll").finish_non_exhaustive()
    }
}

fn describe(f: &mut fmt::Formatter<'_>, name: &str, rank: usize) -> fmt::Result {
    f.debug_struct(name)
        .field("rank", &rank)
        .finish_non_exhaustive()
}
