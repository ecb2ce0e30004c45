//! Operations of accumulates: how an element of a window is combined with the operand.

use bytemuck::Pod;
use ranks_collectives::Number;
use ranks_collectives::ops::{Band, Bor, Bxor, Land, Lor, Lxor, Max, Min, Op, Prod, Sum};
use ranks_mpi_sys::{MPI_Datatype, MPI_NO_OP, MPI_Op, MPI_REPLACE};

/// Operations that [`accumulate`](crate::Locked::accumulate) and its kin can apply to an element of
/// a window: those of reductions but averages and those of the program's own, [`Replace`] and
/// [`NoOp`].
///
/// Each element is changed as a whole, whoever else accumulates there at the same time. MPI
/// libraries rely on it that all who accumulate to one element at a time use the same operation, or
/// [`NoOp`] (MPI 5.0 §12.7.2, `accumulate_ops`).
///
/// The trait is sealed. An operation that is not defined for an element type does not compile:
///
/// ```compile_fail,E0277
/// # use ranks::rma::Locked;
/// # use ranks::collectives::ops::Bor;
/// # fn f(locked: &Locked<'_, f64>) -> ranks::Result<()> {
/// locked.accumulate(&[1.0], Bor, 0, 0)
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not accumulate elements of type `{T}`",
    label = "not an operation on elements of type `{T}` in a window",
    note = "bitwise and logical operations are for integers; `Avg` and `UserOp` are for reductions alone"
)]
pub trait Accumulation<T: Pod>: Copy + Sync + meaning::Meaning<T> {}

/// An [`Accumulation`] that changes what is there: all but [`NoOp`], which belongs to operations
/// that fetch (MPI 5.0 §12.3.4).
///
/// ```compile_fail,E0277
/// # use ranks::rma::{Locked, NoOp};
/// # fn f(locked: &Locked<'_, f64>) -> ranks::Result<()> {
/// locked.accumulate(&[1.0], NoOp, 0, 0)
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not change elements of type `{T}`",
    label = "not an operation that changes elements of type `{T}` in a window",
    note = "`NoOp` is for operations that fetch: `get_accumulate`, `fetch_and_op`; bitwise and logical operations are for integers"
)]
pub trait Change<T: Pod>: Accumulation<T> {}

/// Properties of an operation that the backends need; out of reach from outside, which seals
/// [`Accumulation`].
pub(crate) mod meaning {
    use super::{MPI_Datatype, MPI_Op};

    /// An operation in MPI's terms and in Rust's.
    pub trait Meaning<T> {
        /// MPI's own operation and the datatype that it takes elements as, an item each; `None` if
        /// MPI does not compute with them.
        fn predefined() -> Option<(MPI_Op, MPI_Datatype)>;
        /// Combines the element of the window with `operand`.
        #[must_use]
        fn combine(&self, there: T, operand: T) -> T;
    }
}

/// Puts the operand there: an atomic put.
#[doc(alias = "MPI_REPLACE")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replace;

/// Leaves what is there: an operation that fetches is an atomic get with it.
#[doc(alias = "MPI_NO_OP")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoOp;

impl<T: Number> Accumulation<T> for Replace {}
impl<T: Number> Change<T> for Replace {}
impl<T: Number> meaning::Meaning<T> for Replace {
    #[inline(always)]
    fn predefined() -> Option<(MPI_Op, MPI_Datatype)> {
        T::datatype().map(|datatype| (MPI_REPLACE, datatype))
    }

    fn combine(&self, _: T, operand: T) -> T {
        operand
    }
}

impl<T: Number> Accumulation<T> for NoOp {}
impl<T: Number> meaning::Meaning<T> for NoOp {
    #[inline(always)]
    fn predefined() -> Option<(MPI_Op, MPI_Datatype)> {
        T::datatype().map(|datatype| (MPI_NO_OP, datatype))
    }

    fn combine(&self, there: T, _: T) -> T {
        there
    }
}

/// Lets operations of reductions accumulate.
macro_rules! of_reductions {
    ($($name:ident)*) => { $(
        impl<T: Number> Accumulation<T> for $name where $name: Op<T> {}
        impl<T: Number> Change<T> for $name where $name: Op<T> {}
        impl<T: Number> meaning::Meaning<T> for $name where $name: Op<T> {
            #[inline(always)]
            fn predefined() -> Option<(MPI_Op, MPI_Datatype)> { predefined::<T, $name>() }
            fn combine(&self, there: T, operand: T) -> T { combine(*self, there, operand) }
        }
    )* };
}

of_reductions! { Sum Prod Min Max Band Bor Bxor Land Lor Lxor }

// The trait that seals `Op` is out of reach here: its functions are called by way of the bound.

#[inline(always)]
fn predefined<T: Number, O: Op<T>>() -> Option<(MPI_Op, MPI_Datatype)> {
    O::predefined()
}

fn combine<T: Number, O: Op<T>>(op: O, there: T, operand: T) -> T {
    op.combine(there, operand)
}
