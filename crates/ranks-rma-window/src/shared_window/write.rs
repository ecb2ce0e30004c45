//! The phase in which each rank writes its own segment.

use bytemuck::Pod;
use ranks_comm::Result;

use super::steps::Goal;
use super::{Concurrent, FENCE, HasAtomic, Passive, Read, SharedWindow, Write};

impl<T: Pod> SharedWindow<T, Write> {
    /// This rank's segment.
    #[inline]
    #[must_use]
    pub fn mine(&self) -> &[T] {
        // SAFETY: in this phase nobody but this rank, whose window is borrowed, touches the
        // segment.
        unsafe { self.segments.slice(self.segments.rank()) }
    }

    /// This rank's segment, to be written.
    #[inline]
    #[must_use]
    pub fn mine_mut(&mut self) -> &mut [T] {
        // SAFETY: in this phase nobody but this rank, whose window is borrowed for the purpose,
        // touches the segment.
        unsafe { self.segments.slice_mut(self.segments.rank()) }
    }

    /// Goes on to reading, on all ranks together: what each has written is seen by all. Collective.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`](ranks_comm::ErrorKind::Mismatch) if a rank does something else with
    /// its window, [`ErrorKind::PeerFailed`](ranks_comm::ErrorKind::PeerFailed) if one has dropped
    /// it, or has ended in process; [`ErrorKind::Finalized`](ranks_comm::ErrorKind::Finalized),
    /// [`ErrorKind::WrongThread`](ranks_comm::ErrorKind::WrongThread), or what the library reports.
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_sync`).
    #[doc(alias = "MPI_Win_sync")]
    pub fn fence(mut self) -> Result<SharedWindow<T, Read>> {
        self.pass(FENCE, Goal::Read)?;
        Ok(self.in_phase())
    }

    /// Goes on to locks, on all ranks together: until the [fence](SharedWindow::fence) that ends
    /// the phase each rank reads and writes the segments that it locks, alone. Collective.
    ///
    /// A rank that locks a segment sees all stores that others have made to it under a lock. There
    /// is nothing to flush: loads and stores are over when they are made.
    ///
    /// There is no slice without a lock:
    ///
    /// ```compile_fail,E0599
    /// # use ranks::rma::SharedWindow;
    /// # fn f(writing: SharedWindow<f64>) -> ranks::Result<()> {
    /// let mut window = writing.passive()?;
    /// window.mine_mut()[0] = 1.0; // no method named `mine_mut`
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// none to be written under a shared one:
    ///
    /// ```compile_fail,E0594
    /// # use ranks::rma::SharedWindow;
    /// # fn f(writing: SharedWindow<f64>) -> ranks::Result<()> {
    /// let window = writing.passive()?;
    /// let mut theirs = window.lock_shared(0)?;
    /// theirs[0] = 1.0; // no `DerefMut`
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// and none after the lock, or after the phase:
    ///
    /// ```compile_fail,E0505
    /// # use ranks::rma::SharedWindow;
    /// # fn f(writing: SharedWindow<f64>) -> ranks::Result<()> {
    /// let window = writing.passive()?;
    /// let theirs = window.lock_shared(0)?;
    /// let slice = &theirs[..];
    /// drop(theirs); // moves out of `theirs`, which is borrowed
    /// assert_eq!(slice[0], 0.0);
    /// # Ok(())
    /// # }
    /// ```
    /// ```compile_fail,E0505
    /// # use ranks::rma::SharedWindow;
    /// # fn f(writing: SharedWindow<f64>) -> ranks::Result<()> {
    /// let window = writing.passive()?;
    /// let theirs = window.lock_exclusive(0)?;
    /// let writing = window.fence()?; // moves out of `window`, which is borrowed
    /// assert_eq!(theirs[0], 0.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`fence`](Self::fence).
    ///
    /// MPI 5.0 §12.5.3.
    pub fn passive(mut self) -> Result<SharedWindow<T, Passive>> {
        self.pass("SharedWindow::passive", Goal::Passive)?;
        Ok(self.in_phase())
    }

    /// Goes on to reading here while `other` goes on to writing, with one wait for both.
    /// Collective.
    ///
    /// For two windows that change places at each step, such as the old and the new state of a
    /// simulation. If they are of different communicators, it waits for the ranks of both.
    ///
    /// ```
    /// # use ranks::{Communicator, Result};
    /// # use ranks::rma::SharedWindow;
    /// /// The average of each rank's number and its neighbours', again and again.
    /// fn smoothed(node: &Communicator, mine: f64, steps: usize) -> Result<f64> {
    ///     let (me, last) = (node.rank(), node.size() - 1);
    ///     let mut new = SharedWindow::<f64>::allocate(node, 1)?;
    ///     new.mine_mut()[0] = mine;
    ///     let mut old = new.fence()?;
    ///     let mut new = SharedWindow::<f64>::allocate(node, 1)?;
    ///     for _ in 0..steps {
    ///         let [left, right] = [me.saturating_sub(1), last.min(me + 1)].map(|rank| old.segment(rank)[0]);
    ///         new.mine_mut()[0] = (left + old.mine()[0] + right) / 3.0;
    ///         (old, new) = new.fence_with(old)?;
    ///     }
    ///     Ok(old.mine()[0])
    /// }
    /// # ranks::run(|world| smoothed(&world.split_shared(0)?, 3.0, 4).map(|x| assert_eq!(x, 3.0))).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`fence`](Self::fence); both windows are gone then.
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_sync`).
    pub fn fence_with<U: Pod>(
        mut self,
        mut other: SharedWindow<U, Read>,
    ) -> Result<(SharedWindow<T, Read>, SharedWindow<U, Write>)> {
        {
            let _entered = self.segments.node().enter(FENCE)?;
            Self::arrive(FENCE, &self.segments, &mut self.step, Goal::Read)?;
            SharedWindow::<U, Read>::arrive(FENCE, &other.segments, &mut other.step, Goal::Write)?;
            Self::wait(&self.segments, &self.step)?;
            SharedWindow::<U, Read>::wait(&other.segments, &other.step)?;
        }
        Ok((self.in_phase(), other.in_phase()))
    }
}

impl<T: HasAtomic> SharedWindow<T, Write> {
    /// Goes on to concurrent access, on all ranks together. Collective.
    ///
    /// # Errors
    /// As [`fence`](Self::fence).
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_sync`).
    pub fn concurrent(mut self) -> Result<SharedWindow<T, Concurrent>> {
        self.pass("SharedWindow::concurrent", Goal::Concurrent)?;
        Ok(self.in_phase())
    }
}
