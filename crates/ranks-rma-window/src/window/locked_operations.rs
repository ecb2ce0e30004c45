//! Operations on borrowed memory under a lock, which flushes complete in between.

use std::fmt;
use std::ops::Deref;

use bytemuck::Pod;
use ranks_comm::Result;

use crate::window::locked::Locked;
use crate::window::operations::Operations;

/// The [`Operations`] of a [scope under a lock](Locked::scope), which can be completed in between.
///
/// Memory of operations stays borrowed until the scope ends all the same.
pub struct LockedOperations<'a, 'scope, 'env: 'scope, T: Pod> {
    pub(super) locked: &'a Locked<'a, T>,
    pub(super) operations: &'a Operations<'scope, 'env, T>,
}

impl<T: Pod> LockedOperations<'_, '_, '_, T> {
    /// As [`Locked::flush`].
    ///
    /// # Errors
    /// As [`Locked::flush`].
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_flush`).
    #[doc(alias = "MPI_Win_flush")]
    pub fn flush(&self, rank: usize) -> Result<()> {
        self.locked.flush(rank)?;
        self.operations.pending().flushed(rank);
        Ok(())
    }

    /// As [`Locked::flush_all`].
    ///
    /// # Errors
    /// As [`Locked::flush_all`].
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_flush_all`).
    #[doc(alias = "MPI_Win_flush_all")]
    pub fn flush_all(&self) -> Result<()> {
        self.locked.flush_all()?;
        self.operations.pending().flushed_all();
        Ok(())
    }

    /// As [`Locked::flush_local`].
    ///
    /// # Errors
    /// As [`Locked::flush_local`].
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_flush_local`).
    #[doc(alias = "MPI_Win_flush_local")]
    pub fn flush_local(&self, rank: usize) -> Result<()> {
        self.locked.flush_local(rank)
    }

    /// As [`Locked::flush_local_all`].
    ///
    /// # Errors
    /// As [`Locked::flush_local_all`].
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_flush_local_all`).
    #[doc(alias = "MPI_Win_flush_local_all")]
    pub fn flush_local_all(&self) -> Result<()> {
        self.locked.flush_local_all()
    }
}

impl<'scope, 'env, T: Pod> Deref for LockedOperations<'_, 'scope, 'env, T> {
    type Target = Operations<'scope, 'env, T>;

    fn deref(&self) -> &Self::Target {
        self.operations
    }
}

impl<T: Pod> fmt::Debug for LockedOperations<'_, '_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockedOperations")
            .field("locked", &self.locked)
            .finish_non_exhaustive()
    }
}
