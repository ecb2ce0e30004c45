//! Operations on borrowed memory within an epoch: started one after another, and complete when the
//! scope ends, however it ends.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;
use ranks_collectives::Integer;
use ranks_comm::{Error, ErrorKind, Result};

use crate::epoch::accumulation::{Accumulation, Change};
use crate::epoch::table::Targets;
use crate::window::inner::{Backend, Completion, Inner, Terms};

/// Begins operations on the memory of other ranks, with memory that outlives the scope: of a
/// [step between fences](crate::Fenced::step) or [under a lock](crate::Locked::scope).
///
/// Operations take effect at any time until the scope ends, in any order, but for accumulating ones
/// of one rank on one element, which stay in order. What is read is there when the scope has ended,
/// and can be looked at from then on:
///
/// ```compile_fail,E0502
/// # use ranks::rma::Fenced;
/// # fn f(fenced: &mut Fenced<f64>) -> ranks::Result<()> {
/// let mut theirs = [0.0; 4];
/// fenced.step(|ops| {
///     ops.get(&mut theirs, 0, 0)?;
///     println!("{theirs:?}"); // it may be on its way
///     Ok(())
/// })
/// # }
/// ```
///
/// Source memory stays unchanged until then, and is a slice of elements of the window:
///
/// ```compile_fail,E0506
/// # use ranks::rma::Fenced;
/// # fn f(fenced: &mut Fenced<f64>) -> ranks::Result<()> {
/// let mut mine = [0.0; 4];
/// fenced.step(|ops| {
///     ops.put(&mine, 0, 0)?;
///     mine[0] = 1.0; // it may be on its way
///     Ok(())
/// })
/// # }
/// ```
/// ```compile_fail,E0308
/// # fn f(fenced: &mut ranks::rma::Fenced<f64>) -> ranks::Result<()> {
/// fenced.step(|ops| ops.put(&[1_i32], 0, 0)) // of another type
/// # }
/// ```
/// ```compile_fail,E0308
/// # fn f(fenced: &mut ranks::rma::Fenced<f64>) -> ranks::Result<()> {
/// fenced.step(|ops| ops.get(std::ptr::null_mut(), 0, 0)) // nowhere, and nobody knows how many
/// # }
/// ```
///
/// A scope stays on its thread.
pub struct Operations<'scope, 'env: 'scope, T: Pod> {
    pub(crate) inner: &'scope Inner<T>,
    pub(crate) targets: Targets<'scope>,
    pending: &'scope Pending,
    /// Neither lifetime may be shortened or lengthened.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Ranks with pending operations.
#[derive(Debug)]
pub(crate) struct Pending(Cell<usize>);

/// State of a [`Pending`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PendingTargets {
    Nothing,
    To(usize),
    ToMany,
}

/// No rank is that large.
const NOTHING: usize = usize::MAX;
const MANY: usize = usize::MAX - 1;

impl Pending {
    fn new() -> Self {
        Self(Cell::new(NOTHING))
    }

    #[inline(always)]
    pub(crate) fn add(&self, rank: usize) {
        let before = self.0.get();
        if before != rank {
            self.0.set(if before == NOTHING { rank } else { MANY });
        }
    }

    pub(crate) fn get(&self) -> PendingTargets {
        match self.0.get() {
            NOTHING => PendingTargets::Nothing,
            MANY => PendingTargets::ToMany,
            rank => PendingTargets::To(rank),
        }
    }

    /// Records that the operations on `rank` were completed.
    pub(crate) fn flushed(&self, rank: usize) {
        if self.0.get() == rank {
            self.0.set(NOTHING);
        }
    }

    /// Everything was completed.
    pub(crate) fn flushed_all(&self) {
        self.0.set(NOTHING);
    }
}

/// Calls `end` when it goes, if it was not before.
struct Ending<'a, T: Pod, E: Fn(PendingTargets) -> Result<()>> {
    inner: &'a Inner<T>,
    pending: &'a Pending,
    end: E,
    ended: bool,
}

impl<T: Pod, E: Fn(PendingTargets) -> Result<()>> Ending<'_, T, E> {
    /// # Errors
    /// That of `end`, if no memory is in use: else no caller gets it back, and the job is aborted.
    #[inline]
    fn end(&mut self) -> Result<()> {
        self.ended = true;
        let under_way = self.pending.get();
        let ended = (self.end)(under_way);
        if let Err(error) = &ended {
            let in_use = matches!(self.inner.backend, Backend::Mpi(_));
            if in_use && under_way != PendingTargets::Nothing {
                self.inner.abort(error);
            }
        }
        ended
    }
}

impl<T: Pod, E: Fn(PendingTargets) -> Result<()>> Drop for Ending<'_, T, E> {
    fn drop(&mut self) {
        if !self.ended {
            // A panic goes on.
            let _ = self.end();
        }
    }
}

/// Lends `f` the operations of an epoch that is open to `targets`, and completes them by `end`,
/// also if it panics.
#[inline]
pub(crate) fn run<'env, T: Pod, R>(
    inner: &Inner<T>,
    targets: Targets<'_>,
    end: impl Fn(PendingTargets) -> Result<()>,
    f: impl for<'scope> FnOnce(&Operations<'scope, 'env, T>) -> Result<R>,
) -> Result<R> {
    let pending = Pending::new();
    let mut ending = Ending {
        inner,
        pending: &pending,
        end,
        ended: false,
    };
    let result = {
        let operations = Operations {
            inner,
            targets,
            pending: &pending,
            scope: PhantomData,
            env: PhantomData,
        };
        f(&operations)
    };
    let ended = ending.end();
    let value = result?;
    ended?;
    Ok(value)
}

impl<'scope, 'env, T: Pod> Operations<'scope, 'env, T> {
    /// Begins to write `data` to the memory of `rank`, from its element `at` on.
    ///
    /// Operations that write to elements which others access in the same epoch leave there whatever
    /// they leave; use [`accumulate`](Self::accumulate) with [`Replace`](crate::Replace) where that
    /// happens.
    ///
    /// # Errors
    /// [`Rank`](ranks_comm::ErrorKind::Rank) if there is no such rank,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if the epoch is not open to it,
    /// [`Length`](ranks_comm::ErrorKind::Length) if it has not so many elements there; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §12.3.1 (`MPI_Put`).
    #[doc(alias = "MPI_Put")]
    #[doc(alias = "MPI_Put_c")]
    #[inline]
    pub fn put(&self, data: &'scope [T], rank: usize, at: usize) -> Result<()> {
        // SAFETY: the slice is borrowed for the scope, whose operations are over when it ends.
        let begun = unsafe { self.inner.put(self.terms(), data, rank, at) };
        self.note(rank, begun)
    }

    /// Begins to read elements of `rank` from its element `at` on, as many as `into` has room for.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    ///
    /// MPI 5.0 §12.3.2 (`MPI_Get`).
    #[doc(alias = "MPI_Get")]
    #[doc(alias = "MPI_Get_c")]
    #[inline]
    pub fn get(&self, into: &'scope mut [T], rank: usize, at: usize) -> Result<()> {
        // SAFETY: as above.
        let begun = unsafe { self.inner.get(self.terms(), into, rank, at) };
        self.note(rank, begun)
    }

    /// Begins to combine `data` with the elements of `rank` from `at` on, each as a whole.
    ///
    /// # Errors
    /// As [`put`](Self::put); [`Type`](ranks_comm::ErrorKind::Type) over MPI if `T` is a 16-bit
    /// floating-point number, with which no library computes.
    ///
    /// MPI 5.0 §12.3.4 (`MPI_Accumulate`).
    #[doc(alias = "MPI_Accumulate")]
    #[doc(alias = "MPI_Accumulate_c")]
    #[inline]
    pub fn accumulate<O: Change<T>>(
        &self,
        data: &'scope [T],
        op: O,
        rank: usize,
        at: usize,
    ) -> Result<()> {
        // SAFETY: as above.
        let begun = unsafe { self.inner.accumulate(self.terms(), data, op, rank, at) };
        self.note(rank, begun)
    }

    /// As [`accumulate`](Self::accumulate), and begins to read what the elements were before into
    /// `old`, which is as long as `data`.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate); [`Length`](ranks_comm::ErrorKind::Length) also if the
    /// slices differ in length.
    ///
    /// MPI 5.0 §12.3.4 (`MPI_Get_accumulate`).
    #[doc(alias = "MPI_Get_accumulate")]
    #[doc(alias = "MPI_Get_accumulate_c")]
    #[inline]
    pub fn get_accumulate<O: Accumulation<T>>(
        &self,
        data: &'scope [T],
        old: &'scope mut [T],
        op: O,
        rank: usize,
        at: usize,
    ) -> Result<()> {
        // SAFETY: as above.
        let begun = unsafe {
            self.inner
                .get_accumulate(self.terms(), data, old, op, rank, at)
        };
        self.note(rank, begun)
    }

    /// As [`get_accumulate`](Self::get_accumulate) for one element.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    ///
    /// MPI 5.0 §12.3.4 (`MPI_Fetch_and_op`).
    #[doc(alias = "MPI_Fetch_and_op")]
    #[inline]
    pub fn fetch_and_op<O: Accumulation<T>>(
        &self,
        value: &'scope T,
        old: &'scope mut T,
        op: O,
        rank: usize,
        at: usize,
    ) -> Result<()> {
        // SAFETY: as above.
        let begun = unsafe {
            self.inner
                .fetch_and_op(self.terms(), value, old, op, rank, at)
        };
        self.note(rank, begun)
    }

    /// Begins to write `new` to the element `at` of `rank` if that is `expected`, and to read what
    /// it was before into `old`.
    ///
    /// # Errors
    /// As [`put`](Self::put); [`NotInLibrary`](ranks_comm::ErrorKind::NotInLibrary) for elements of
    /// 8 bytes on Open MPI up to 4.1.4, which crashes there.
    ///
    /// MPI 5.0 §12.3.4 (`MPI_Compare_and_swap`).
    #[doc(alias = "MPI_Compare_and_swap")]
    #[inline]
    pub fn compare_and_swap(
        &self,
        expected: &'scope T,
        new: &'scope T,
        old: &'scope mut T,
        rank: usize,
        at: usize,
    ) -> Result<()>
    where
        T: Integer,
    {
        // SAFETY: as above.
        let begun = unsafe {
            self.inner
                .compare_and_swap(self.terms(), expected, new, old, rank, at)
        };
        self.note(rank, begun)
    }

    /// Records an operation started on `rank`; also one that the library has refused, since part of
    /// it may be pending.
    #[inline(always)]
    pub(crate) fn note(&self, rank: usize, begun: Result<()>) -> Result<()> {
        // A thread that may not call has started nothing, and may not end anything.
        let let_in = |error: &Error| error.kind() != ErrorKind::WrongThread;
        if begun.is_ok()
            || begun.as_ref().is_err_and(let_in) && self.inner.table.opens(self.targets, rank)
        {
            self.pending.add(rank);
        }
        begun
    }

    #[inline(always)]
    pub(super) fn terms(&self) -> Terms<'scope> {
        Terms {
            targets: self.targets,
            completion: Completion::Later,
        }
    }

    /// These operations on memory that is attached to the window that they are on.
    pub(crate) fn on<U: Pod>(&self, inner: &'scope Inner<U>) -> Operations<'scope, 'env, U> {
        Operations {
            inner,
            targets: self.targets,
            pending: self.pending,
            scope: PhantomData,
            env: PhantomData,
        }
    }

    pub(crate) fn pending(&self) -> &'scope Pending {
        self.pending
    }
}

impl<T: Pod> fmt::Debug for Operations<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operations")
            .field("targets", &self.targets)
            .finish_non_exhaustive()
    }
}
