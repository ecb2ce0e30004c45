//! Reductions with a function of the program's own.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytemuck::Pod;
use ranks_comm::backend::{calling_back, message_of_panic};
use ranks_comm::{Error, ErrorKind, Result};
use ranks_mpi_sys::{MPI_Datatype, MPI_Op};

use crate::ops::description::Describe;
use crate::ops::{Op, Reduction};

/// A reduction that a closure computes, for elements of any [`Pod`] type.
///
/// The closure gets two elements, that of the lower ranks first, and returns what the two come to.
/// It must be associative: in which groups the ranks' elements are taken together is up to the
/// library. It may use what it borrows or holds, and there is no limit to how many there are. All
/// ranks pass the same one: where calls are compared, closures that are written in one function
/// count as the same.
///
/// ```
/// use ranks::collectives::{Collectives, ops::UserOp};
///
/// /// The slowest rank, and how long it took.
/// fn slowest(world: &ranks::Communicator, seconds: f64) -> ranks::Result<[f64; 2]> {
///     let mine = [seconds, world.rank() as f64];
///     let slower = UserOp::commutative(|a: [f64; 2], b: [f64; 2]| if b[0] > a[0] { b } else { a });
///     let mut all = [[0.0; 2]];
///     world.allreduce(&[mine], &mut all, slower)?;
///     Ok(all[0])
/// }
/// ```
///
/// An operation is passed by value if the closure is [`Copy`], as it is if it captures nothing or
/// only shared references, and by reference otherwise.
///
/// # What the closure must not do
///
/// It cannot communicate: libraries call it from within the operation, and would wait for ever.
/// Calls of ranks are errors there, [`WrongThread`](ErrorKind::WrongThread), but for those of a
/// world in process that the closure starts; nor can it wait for another thread that communicates.
/// It may run on a thread that the library has started for its progress, hence the bound [`Sync`].
///
/// A panic does not leave the library's call: it is caught, and the operation is an
/// [`Argument`](ErrorKind::Argument) error on the rank where the closure panicked, once the call
/// has ended. MPI has no way to tell the other ranks, which may get a result that is not the whole:
/// end the job, as `ranks::run` does on an error.
///
/// MPI 5.0 §6.9.5 (`MPI_Op_create`).
#[doc(alias = "MPI_Op_create")]
#[doc(alias = "MPI_Op_free")]
#[derive(Clone, Copy)]
pub struct UserOp<F> {
    function: F,
    commutes: bool,
}

impl<F> UserOp<F> {
    /// An operation whose operands are combined in the order of ranks.
    #[must_use]
    pub fn new<T: Pod>(function: F) -> Self
    where
        F: Fn(T, T) -> T + Sync,
    {
        Self {
            function,
            commutes: false,
        }
    }

    /// An operation whose operands may be swapped, which gives libraries more and faster ways.
    #[must_use]
    pub fn commutative<T: Pod>(function: F) -> Self
    where
        F: Fn(T, T) -> T + Sync,
    {
        Self {
            function,
            commutes: true,
        }
    }

    /// Returns `true` if operands may be swapped.
    ///
    /// MPI 5.0 §6.9.7 (`MPI_Op_commutative`).
    #[doc(alias = "MPI_Op_commutative")]
    #[must_use]
    pub fn is_commutative(&self) -> bool {
        self.commutes
    }
}

impl<F> fmt::Debug for UserOp<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserOp")
            .field("commutes", &self.commutes)
            .finish_non_exhaustive()
    }
}

impl<T: Pod, F: Fn(T, T) -> T + Sync + Copy> Reduction<T> for UserOp<F> {}
impl<T: Pod, F: Fn(T, T) -> T + Sync + Copy> Op<T> for UserOp<F> {}
impl<T: Pod, F: Fn(T, T) -> T + Sync> Reduction<T> for &UserOp<F> {}
impl<T: Pod, F: Fn(T, T) -> T + Sync> Op<T> for &UserOp<F> {}

macro_rules! describe {
    ($($Op:ty),*) => { $(
        impl<T: Pod, F: Fn(T, T) -> T + Sync> Describe<T> for $Op {
            #[inline(always)]
            fn predefined() -> Option<(MPI_Op, MPI_Datatype)> {
                None
            }

            fn commutes(&self) -> bool {
                self.commutes
            }

            fn combine(&self, left: T, right: T) -> T {
                (self.function)(left, right)
            }
        }
    )* };
}

describe! { UserOp<F>, &UserOp<F> }

/// The message of a closure that panicked.
pub(crate) struct Panicked(String);

impl Panicked {
    /// Runs `fold`, which calls an operation for elements.
    pub(crate) fn catch(fold: impl FnOnce()) -> std::result::Result<(), Self> {
        // What is half done is elements, of which any bytes make some.
        let fold = AssertUnwindSafe(|| calling_back(fold));
        catch_unwind(fold).map_err(|payload| {
            let message = message_of_panic(payload.as_ref());
            // It may panic when it is dropped, and a library called the operation.
            std::mem::forget(payload);
            Self(message)
        })
    }

    /// The error of `operation` (the C name) that ended so.
    pub(crate) fn error(&self, operation: &'static str) -> Error {
        Error::new(
            ErrorKind::Argument,
            operation,
            format_args!(
                "on this rank the operation passed {}; results are not usable on any rank",
                self.0
            ),
        )
    }

    /// Runs `fold`, which calls `O` for elements; one of MPI's own does not panic.
    ///
    /// # Errors
    /// As [`caught`](Self::caught).
    pub(crate) fn caught_of<T: Pod, O: Reduction<T>>(
        operation: &'static str,
        fold: impl FnOnce(),
    ) -> Result<()> {
        if O::predefined().is_some() {
            fold();
            return Ok(());
        }
        Self::caught(operation, fold)
    }

    /// Runs `fold`, which calls an operation for elements.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if it panics.
    pub(crate) fn caught(operation: &'static str, fold: impl FnOnce()) -> Result<()> {
        Self::catch(fold).map_err(|panicked| panicked.error(operation))
    }
}
