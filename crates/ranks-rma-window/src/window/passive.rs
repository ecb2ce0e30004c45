//! A window whose memory is accessed by the origins that lock it, while its owner need not call
//! anything.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::record::{Call, Class, Kind};

use crate::epoch::epochs::Hold;
use crate::epoch::lock_kind::LockKind;
use crate::mpi;
use crate::window::Window;
use crate::window::inner::Inner;
use crate::window::locked::Locked;

const OPEN: &str = "Window::passive";
const CLOSE: &str = "PassiveWindow::close";
const LOCK: &Kind = &Kind::of(Class::Message, "MPI_Win_lock");
const LOCK_ALL: &Kind = &Kind::of(Class::Message, "MPI_Win_lock_all");

/// A window whose memory is open to those who lock it; from [`Window::passive`].
///
/// ```
/// use ranks::collectives::ops::Sum;
/// use ranks::{Communicator, Result};
/// use ranks::rma::Window;
///
/// /// Does `tasks` tasks, each on the rank that is first to ask for it.
/// fn share_out(world: &Communicator, tasks: usize, work: impl Fn(usize)) -> Result<()> {
///     let window = Window::<usize>::allocate(world, usize::from(world.rank() == 0))?.passive()?;
///     let locked = window.lock_all()?;
///     loop {
///         let task = locked.fetch_and_op(1, Sum, 0, 0)?;
///         if task >= tasks {
///             break;
///         }
///         work(task);
///     }
///     locked.unlock()?;
///     window.close()?.free()?;
///     Ok(())
/// }
/// # ranks::run(|world| share_out(&world, 5, drop)).unwrap();
/// ```
///
/// Operations are those of a [`Locked`]; there are none without a lock, and no slice of this rank's
/// elements but [under an exclusive one](Locked::local).
///
/// ```compile_fail,E0599
/// # fn f(window: ranks::rma::PassiveWindow<f64>) -> ranks::Result<()> {
/// window.put(&[1.0], 0, 0)
/// # }
/// ```
/// ```compile_fail,E0505
/// # fn f(window: ranks::rma::PassiveWindow<f64>) -> ranks::Result<()> {
/// let locked = window.lock_all()?;
/// let window = window.close()?; // still locked
/// locked.unlock()
/// # }
/// ```
///
/// Progress for others while this rank computes depends on the library. At the latest it is made
/// when this rank calls the library.
#[must_use = "dropping it defers the free of the window"]
pub struct PassiveWindow<T: Pod> {
    pub(crate) inner: Box<Inner<T>>,
}

impl<T: Pod> PassiveWindow<T> {
    pub(crate) fn open(inner: Box<Inner<T>>) -> Result<Self> {
        // Earlier stores are in memory for the ranks that come after.
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        inner.agree_on_state(OPEN)?;
        inner.dispatch(OPEN, |_| Ok(()), |window| window.open_passive(OPEN))?;
        Ok(Self { inner })
    }

    /// Locks the memory of `rank`. Waits for those who hold a lock that excludes this one, now or
    /// at the first operation.
    ///
    /// ```compile_fail,E0600
    /// # use ranks::rma::{LockKind, PassiveWindow};
    /// # fn f(window: &PassiveWindow<f64>) -> ranks::Result<()> {
    /// window.lock(LockKind::Shared, -1)?.unlock() // there is no such rank anywhere
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Rank`](ranks_comm::ErrorKind::Rank) if there is no such rank;
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if this process holds a lock on it already;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §12.5.3 (`MPI_Win_lock`).
    #[doc(alias = "MPI_Win_lock")]
    #[inline]
    pub fn lock(&self, kind: LockKind, rank: usize) -> Result<Locked<'_, T>> {
        self.inner.table.check_rank(LOCK.operation, rank)?;
        let exclusive = kind == LockKind::Exclusive;
        self.hold(
            (LOCK, rank),
            Hold::Rank(rank),
            exclusive,
            move |window| window.lock(kind, rank),
            move |window| window.lock(exclusive, rank),
        )
    }

    /// Locks the memory of every rank, shared. Not collective: others need not do the same.
    ///
    /// # Errors
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if this process holds a lock on this window
    /// already; otherwise what the library reports.
    ///
    /// MPI 5.0 §12.5.3 (`MPI_Win_lock_all`).
    #[doc(alias = "MPI_Win_lock_all")]
    pub fn lock_all(&self) -> Result<Locked<'_, T>> {
        self.hold(
            LOCK_ALL,
            Hold::All,
            false,
            mpi::Window::lock_all,
            |window| window.lock_all(),
        )
    }

    #[inline]
    fn hold(
        &self,
        call: impl Into<Call> + Copy,
        hold: Hold,
        exclusive: bool,
        over_mpi: impl FnOnce(&mpi::Window<T>) -> Result<()>,
        in_process: impl FnOnce(&crate::in_process::LocalWindow) -> Result<()>,
    ) -> Result<Locked<'_, T>> {
        self.inner.epochs.hold(call.into().operation(), hold)?;
        if let Err(error) = self.inner.call(call, over_mpi, in_process) {
            self.inner.epochs.release(hold);
            return Err(error);
        }
        Ok(Locked::new(&self.inner, hold, exclusive))
    }

    /// Ends the time of locks; the memory of each rank is its own again. Waits until all locks are
    /// gone. Collective.
    ///
    /// # Errors
    /// As [`Window::fence`].
    pub fn close(self) -> Result<Window<T>> {
        let inner = self.inner;
        // Locks whose guards were forgotten.
        inner.unlock_held()?;
        inner.agree_on_state(CLOSE)?;
        inner.dispatch(CLOSE, |_| Ok(()), |window| window.close(CLOSE))?;
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        Ok(Window { inner })
    }
}

state_of_window! { PassiveWindow }

#[cfg(test)]
mod tests {
    use ranks_comm::{Backend, ErrorKind, Runtime};

    use super::*;

    /// The other locks were forgotten, and held for ever.
    #[test]
    fn a_lock_that_is_not_released_keeps_none_of_the_others() {
        let runtime = Runtime::builder().backend(Backend::InProcess).ranks(2);
        let outcome = runtime.run(|world| {
            let window = Window::<u8>::allocate(&world, 1)?.passive()?;
            // A lock that the backend does not know.
            window.inner.epochs.hold(LOCK.operation, Hold::Rank(0))?;
            std::mem::forget(window.lock(LockKind::Shared, 1)?);
            let error = window.inner.unlock_held().expect_err("not locked");
            assert_eq!(error.kind(), ErrorKind::Argument);
            window.lock(LockKind::Exclusive, 1)?.unlock()?;
            window.close().map(drop)
        });
        assert!(outcome.is_ok(), "{outcome:?}");
    }
}
