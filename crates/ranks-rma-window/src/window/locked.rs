//! A lock on the memory of one rank or of all, and what can be done while it is held.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::MutexGuard;

use bytemuck::Pod;
use ranks_collectives::Integer;
use ranks_comm::record::{Class, Kind};
use ranks_comm::{Error, ErrorKind, Result};

use crate::epoch::accumulation::{Accumulation, Change};
use crate::epoch::epochs::Hold;
use crate::epoch::table::Targets;
use crate::in_process::LocalWindow;
use crate::mpi;
use crate::window::inner::{Completion, Inner, Terms};
use crate::window::locked_operations::LockedOperations;
use crate::window::operations::{self, PendingTargets};

const FLUSH: &Kind = &Kind::of(Class::Message, "MPI_Win_flush");
const FLUSH_ALL: &Kind = &Kind::of(Class::Message, "MPI_Win_flush_all");
const FLUSH_LOCAL: &Kind = &Kind::of(Class::Message, "MPI_Win_flush_local");
const FLUSH_LOCAL_ALL: &Kind = &Kind::of(Class::Message, "MPI_Win_flush_local_all");
const SYNC: &Kind = &Kind::of(Class::Local, "MPI_Win_sync");

/// In process every operation is over when it returns, and takes the mutex of the memory.
const DONE: fn(&LocalWindow) -> Result<()> = |_| Ok(());

/// A lock on the memory of one rank or of all; from [`PassiveWindow`](crate::PassiveWindow).
///
/// Each operation here is complete when it returns, on this rank and at its target. Those of a
/// [`scope`](Self::scope) go on while others start, and are complete when it ends.
///
/// ```
/// use ranks::{Communicator, Result};
/// use ranks::rma::{LockKind, Window};
///
/// fn exchange(world: &Communicator) -> Result<()> {
///     let window = Window::<f64>::allocate(world, 100)?.passive()?;
///     let right = (world.rank() + 1) % world.size();
///     let locked = window.lock(LockKind::Exclusive, right)?;
///     locked.put(&[1.0, 2.0], right, 10)?;
///     let mut got = [0.0; 3];
///     locked.get(&mut got, right, 10)?;
///     assert_eq!(got, [1.0, 2.0, 0.0]);
///     locked.unlock()?;
///     window.close()?;
///     Ok(())
/// }
/// # ranks::run(|world| exchange(&world)).unwrap();
/// ```
///
/// It is unlocked when dropped, which completes pending operations; [`unlock`](Self::unlock) tells
/// how that went. Threads can share it, but it stays on the thread that has locked:
///
/// ```compile_fail,E0277
/// # fn f(locked: ranks::rma::Locked<'_, f64>) {
/// std::thread::scope(|threads| {
///     threads.spawn(move || drop(locked));
/// });
/// # }
/// ```
#[must_use = "the memory is unlocked as soon as this is dropped"]
pub struct Locked<'a, T: Pod> {
    pub(crate) inner: &'a Inner<T>,
    pub(crate) targets: Targets<'static>,
    hold: Hold,
    exclusive: bool,
    held: bool,
    /// As the guard of a mutex it is for threads to share, but stays on its own.
    stays: PhantomData<MutexGuard<'static, ()>>,
}

impl<'a, T: Pod> Locked<'a, T> {
    pub(crate) fn new(inner: &'a Inner<T>, hold: Hold, exclusive: bool) -> Self {
        let targets = match hold {
            Hold::All => Targets::All,
            Hold::Rank(rank) => Targets::One(rank),
        };
        Self {
            inner,
            targets,
            hold,
            exclusive,
            held: true,
            stays: PhantomData,
        }
    }

    /// The same lock for memory that is attached to the window that it is held on.
    pub(crate) fn on<'b, U: Pod>(&'b self, inner: &'b Inner<U>) -> Locked<'b, U> {
        Locked {
            inner,
            targets: self.targets,
            hold: self.hold,
            // Only `self` lends slices.
            exclusive: false,
            held: false,
            stays: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn terms(&self) -> Terms<'static> {
        Terms {
            targets: self.targets,
            completion: Completion::AtOnce,
        }
    }

    /// Writes `data` to the memory of `rank`, from its element `at` on.
    ///
    /// # Errors
    /// As [`Operations::put`](crate::Operations::put). If the operation cannot be completed, the
    /// job is aborted: the library may still be using `data`.
    ///
    /// MPI 5.0 §12.3.1 (`MPI_Put`), §12.5.4 (`MPI_Win_flush`).
    #[doc(alias = "MPI_Put")]
    #[doc(alias = "MPI_Put_c")]
    #[inline]
    pub fn put(&self, data: &[T], rank: usize, at: usize) -> Result<()> {
        // SAFETY: it is over when this returns.
        unsafe { self.inner.put(self.terms(), data, rank, at) }
    }

    /// Reads elements of `rank` from its element `at` on, as many as `into` has room for.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    ///
    /// MPI 5.0 §12.3.2 (`MPI_Get`), §12.5.4 (`MPI_Win_flush`).
    #[doc(alias = "MPI_Get")]
    #[doc(alias = "MPI_Get_c")]
    #[inline]
    pub fn get(&self, into: &mut [T], rank: usize, at: usize) -> Result<()> {
        // SAFETY: it is over when this returns.
        unsafe { self.inner.get(self.terms(), into, rank, at) }
    }

    /// Combines `data` with the elements of `rank` from `at` on, each as a whole.
    ///
    /// # Errors
    /// As [`Operations::accumulate`](crate::Operations::accumulate); as [`put`](Self::put).
    ///
    /// MPI 5.0 §12.3.4 (`MPI_Accumulate`), §12.5.4 (`MPI_Win_flush`).
    #[doc(alias = "MPI_Accumulate")]
    #[doc(alias = "MPI_Accumulate_c")]
    #[inline]
    pub fn accumulate<O: Change<T>>(
        &self,
        data: &[T],
        op: O,
        rank: usize,
        at: usize,
    ) -> Result<()> {
        // SAFETY: it is over when this returns.
        unsafe { self.inner.accumulate(self.terms(), data, op, rank, at) }
    }

    /// As [`accumulate`](Self::accumulate), and reads what the elements were before into `old`,
    /// which is as long as `data`.
    ///
    /// # Errors
    /// As [`Operations::get_accumulate`](crate::Operations::get_accumulate); as [`put`](Self::put).
    ///
    /// MPI 5.0 §12.3.4 (`MPI_Get_accumulate`), §12.5.4 (`MPI_Win_flush`).
    #[doc(alias = "MPI_Get_accumulate")]
    #[doc(alias = "MPI_Get_accumulate_c")]
    #[inline]
    pub fn get_accumulate<O: Accumulation<T>>(
        &self,
        data: &[T],
        old: &mut [T],
        op: O,
        rank: usize,
        at: usize,
    ) -> Result<()> {
        // SAFETY: it is over when this returns.
        unsafe {
            self.inner
                .get_accumulate(self.terms(), data, old, op, rank, at)
        }
    }

    /// Combines `value` with the element `at` of `rank`, and returns what that was before.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    ///
    /// MPI 5.0 §12.3.4 (`MPI_Fetch_and_op`), §12.5.4 (`MPI_Win_flush`).
    #[doc(alias = "MPI_Fetch_and_op")]
    #[inline]
    pub fn fetch_and_op<O: Accumulation<T>>(
        &self,
        value: T,
        op: O,
        rank: usize,
        at: usize,
    ) -> Result<T> {
        let mut old = T::zeroed();
        // SAFETY: it is over when this returns.
        unsafe {
            self.inner
                .fetch_and_op(self.terms(), &value, &mut old, op, rank, at)?;
        }
        Ok(old)
    }

    /// Puts `new` in the place of the element `at` of `rank` if that is `expected`, and returns
    /// what it was before.
    ///
    /// # Errors
    /// As [`put`](Self::put); [`NotInLibrary`](ranks_comm::ErrorKind::NotInLibrary) for elements of
    /// 8 bytes on Open MPI up to 4.1.4, which crashes there.
    ///
    /// MPI 5.0 §12.3.4 (`MPI_Compare_and_swap`), §12.5.4 (`MPI_Win_flush`).
    #[doc(alias = "MPI_Compare_and_swap")]
    #[inline]
    pub fn compare_and_swap(&self, expected: T, new: T, rank: usize, at: usize) -> Result<T>
    where
        T: Integer,
    {
        let mut old = T::zeroed();
        // SAFETY: it is over when this returns.
        unsafe {
            self.inner
                .compare_and_swap(self.terms(), &expected, &new, &mut old, rank, at)?;
        }
        Ok(old)
    }

    /// Starts operations on borrowed memory in `f`, and returns when all of them are complete: they
    /// were flushed at the end, once, and only those ranks that an operation was started on.
    ///
    /// ```
    /// # use ranks::Result;
    /// # use ranks::rma::Locked;
    /// /// Every other element of a rank.
    /// fn every_other(locked: &Locked<'_, f64>, rank: usize, count: usize) -> Result<Vec<f64>> {
    ///     let mut values = vec![0.0; count];
    ///     locked.scope(|ops| {
    ///         for (index, value) in values.chunks_mut(1).enumerate() {
    ///             ops.get(value, rank, 2 * index)?;
    ///         }
    ///         Ok(())
    ///     })?;
    ///     Ok(values)
    /// }
    /// ```
    ///
    /// # Errors
    /// That of `f`. If the operations cannot be completed, the job is aborted: the library may
    /// still be using their memory.
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_flush`).
    #[doc(alias = "MPI_Win_flush")]
    #[doc(alias = "MPI_Win_flush_all")]
    #[inline]
    pub fn scope<'env, R>(
        &self,
        f: impl for<'scope> FnOnce(&LockedOperations<'_, 'scope, 'env, T>) -> Result<R>,
    ) -> Result<R> {
        let end = |under_way| match under_way {
            PendingTargets::Nothing => Ok(()),
            PendingTargets::To(rank) => {
                let call = (FLUSH, rank);
                self.inner
                    .call_to_end(call, |window| window.flush(rank), DONE)
            }
            PendingTargets::ToMany => {
                self.inner
                    .call_to_end(FLUSH_ALL, mpi::Window::flush_all, DONE)
            }
        };
        operations::run(self.inner, self.targets, end, |operations| {
            f(&LockedOperations {
                locked: self,
                operations,
            })
        })
    }

    /// Completes all operations of this process to `rank`, also those of scopes of other threads.
    ///
    /// # Errors
    /// [`Rank`](ErrorKind::Rank) and [`Argument`](ErrorKind::Argument) if it is not locked;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_flush`).
    #[doc(alias = "MPI_Win_flush")]
    pub fn flush(&self, rank: usize) -> Result<()> {
        self.check_target(FLUSH.operation, rank)?;
        let call = (FLUSH, rank);
        self.inner.call(call, |window| window.flush(rank), DONE)
    }

    /// Completes all operations of this process.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_flush_all`).
    #[doc(alias = "MPI_Win_flush_all")]
    pub fn flush_all(&self) -> Result<()> {
        self.inner.call(FLUSH_ALL, mpi::Window::flush_all, DONE)
    }

    /// Completes all operations of this process to `rank` as far as this process's memory goes.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_flush_local`).
    #[doc(alias = "MPI_Win_flush_local")]
    pub fn flush_local(&self, rank: usize) -> Result<()> {
        self.check_target(FLUSH_LOCAL.operation, rank)?;
        let call = (FLUSH_LOCAL, rank);
        self.inner
            .call(call, |window| window.flush_local(rank), DONE)
    }

    /// Completes all operations of this process as far as its memory goes.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_flush_local_all`).
    #[doc(alias = "MPI_Win_flush_local_all")]
    pub fn flush_local_all(&self) -> Result<()> {
        self.inner
            .call(FLUSH_LOCAL_ALL, mpi::Window::flush_local_all, DONE)
    }

    /// Makes what others have written to this rank's memory visible here, and what was stored here
    /// visible to them.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §12.5.4 (`MPI_Win_sync`).
    #[doc(alias = "MPI_Win_sync")]
    pub fn sync(&self) -> Result<()> {
        self.inner.call(SYNC, mpi::Window::sync, DONE)
    }

    /// This rank's elements, if this is an exclusive lock on this rank: nobody else has access
    /// then. Operations that this rank has started on itself are completed before.
    #[must_use]
    pub fn local(&mut self) -> Option<&[T]> {
        self.local_mut().map(|local| &*local)
    }

    /// As [`local`](Self::local), to be written to.
    #[must_use]
    pub fn local_mut(&mut self) -> Option<&mut [T]> {
        let me = self.inner.comm.rank();
        if self.hold != Hold::Rank(me) || !self.exclusive {
            return None;
        }
        // Requests to this rank itself may be under way, though they were waited for or dropped.
        let done = self
            .inner
            .call_to_end(FLUSH, |window| window.flush(me), DONE);
        if let Err(error) = done {
            self.inner.abort(&error);
        }
        // SAFETY: no other rank has access while this one holds an exclusive lock on itself, and
        // this one accesses it by way of this guard alone, which is borrowed, and has nothing under
        // way.
        Some(unsafe { self.inner.local_mut() })
    }

    /// Completes pending operations, and releases the lock.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §12.5.3 (`MPI_Win_unlock`, `MPI_Win_unlock_all`).
    #[doc(alias = "MPI_Win_unlock")]
    #[doc(alias = "MPI_Win_unlock_all")]
    #[inline]
    pub fn unlock(self) -> Result<()> {
        // Nothing is left for `drop`.
        ManuallyDrop::new(self).release()
    }

    #[inline]
    fn release(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.held, false) {
            return Ok(());
        }
        self.inner.unlock(self.hold)?;
        self.inner.epochs.release(self.hold);
        Ok(())
    }

    fn check_target(&self, operation: &'static str, rank: usize) -> Result<()> {
        self.inner.table.check_rank(operation, rank)?;
        if self.targets.include(rank) {
            return Ok(());
        }
        let targets = self.targets;
        let detail = format_args!("rank {rank} is not locked, but {targets} only");
        Err(Error::new(ErrorKind::Argument, operation, detail))
    }
}

impl<T: Pod> Drop for Locked<'_, T> {
    fn drop(&mut self) {
        // A lock that could not be released counts as held until the window is freed.
        let _ = self.release();
    }
}

impl<T: Pod> fmt::Debug for Locked<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locked")
            .field("name", &self.inner.comm.name_in_reports())
            .field("targets", &self.targets)
            .field("exclusive", &self.exclusive)
            .finish_non_exhaustive()
    }
}
