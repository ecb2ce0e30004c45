//! Operations of reductions: [`Sum`], [`Min`] and the others, each a type of its own.
//!
//! An operation that MPI does not define for an element type does not compile:
//!
//! ```compile_fail
//! # use ranks::collectives::{Collectives, ops::Band};
//! # fn f(world: &ranks::Communicator) -> ranks::Result<()> {
//! world.allreduce(&[1.0_f64], &mut [0.0], Band)
//! # }
//! ```
//!
//! The same with an integer is fine:
//!
//! ```
//! # use ranks::collectives::{Collectives, ops::Band};
//! # fn f(world: &ranks::Communicator) -> ranks::Result<()> {
//! world.allreduce(&[1_u64], &mut [0], Band)
//! # }
//! ```
//!
//! **Averages.** [`Avg`] is no operation on two elements, and only defined over all ranks: there is
//! no scan with it.
//!
//! **Order.** All of these are associative and commutative but for the rounding of floating-point
//! sums and products. In process, contributions are combined in the order of ranks, from 0 up, so a
//! result repeats to the last digit. MPI libraries are advised to do so too (MPI 5.0 §6.9.1), for
//! the same number of ranks. Reductions of [`Reproducible`](crate::Reproducible) have the same bits
//! for any number of ranks and on any library.
//!
//! **Overflow.** Integer [`Sum`] and [`Prod`] wrap, in process as under MPI. One exception is
//! known: on processors with AVX, Open MPI 4.1 and later stop sums of 8- and 16-bit integers at the
//! largest or smallest value, for most elements of a block but not for all
//! (<https://github.com/open-mpi/ompi/issues/8045>). Add such numbers as `i32`. Sums in windows are
//! not concerned.
//!
//! **NaN.** What [`Min`] and [`Max`] make of a NaN, or of zeros of both signs, depends on the
//! library and on where they stand: an `allreduce` may give ranks different results (MPICH 5.0.2).

pub(crate) mod average;
pub(crate) mod fractional;
pub(crate) mod located;
pub(crate) mod number;
pub(crate) mod user_op;

use bytemuck::Pod;
use ranks_mpi_sys::{
    MPI_BAND, MPI_BOR, MPI_BXOR, MPI_Datatype, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MAX, MPI_MAXLOC,
    MPI_MIN, MPI_MINLOC, MPI_Op, MPI_PROD, MPI_SUM,
};

use crate::ops::located::{Locate, Located};
use crate::ops::number::{Integer, Number, Ordered};

pub use crate::ops::average::Avg;
pub use crate::ops::user_op::UserOp;

/// An operation of [`allreduce`](crate::Collectives::allreduce),
/// [`reduce`](crate::Collectives::reduce) and the reductions to shares of the result: an [`Op`], or
/// [`Avg`].
///
/// The trait is sealed: what MPI takes for operation and elements decides how many bytes are
/// written. The trait that seals it is out of reach:
///
/// ```compile_fail,E0432
/// use ranks::collectives::backend::Describe;
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not reduce elements of type `{T}`",
    label = "not an operation on elements of type `{T}`",
    note = "bitwise and logical operations are for integers, `Avg` is for floating-point and complex numbers, `MinLoc` and `MaxLoc` are \
            for `Located`"
)]
pub trait Reduction<T: Pod>: Copy + Sync + description::Describe<T> {}

/// A reduction that is defined for two elements of type `T`, and so for those of some ranks as well
/// as of all.
///
/// The trait is sealed; its implementations are the unit structs of [this module](self) but
/// [`Avg`], and [`UserOp`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not combine two elements of type `{T}`",
    label = "not an operation on two of `{T}`",
    note = "`Avg` is for reductions over all ranks; bitwise and logical operations are for integers"
)]
pub trait Op<T: Pod>: Reduction<T> {}

/// An operation as the backends know it; out of reach from outside, which seals [`Op`].
pub(crate) mod description {
    use super::{MPI_Datatype, MPI_Op};

    /// An operation in MPI's terms and in Rust's.
    pub trait Describe<T> {
        /// MPI's own operation and the datatype that it takes elements as; `None` if MPI has no
        /// such operation.
        ///
        /// An item of the datatype is an element: it has the size of `T`.
        fn predefined() -> Option<(MPI_Op, MPI_Datatype)>;
        /// Returns `true` if the library may swap the operands.
        fn commutes(&self) -> bool;
        /// Combines two elements where MPI has no such operation; `left` comes from the lower
        /// ranks.
        #[must_use]
        fn combine(&self, left: T, right: T) -> T;
        /// A result in the form that it has on every machine.
        #[must_use]
        fn canonical(&self, result: T) -> T {
            result
        }
        /// `true` if [`finish`](Self::finish) does anything.
        const FINISHES: bool = false;
        /// Makes the results of what was combined of so many ranks.
        #[inline(always)]
        fn finish(&self, _combined: &mut [T], _ranks: usize) {}
    }
}

macro_rules! operations {
    ($( $(#[$doc:meta])* $name:ident: $bound:ident, $mpi:ident, |$a:ident, $b:ident| $combined:expr; )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl<T: $bound> Reduction<T> for $name {}
        impl<T: $bound> Op<T> for $name {}
        impl<T: $bound> description::Describe<T> for $name {
            #[inline(always)]
            fn predefined() -> Option<(MPI_Op, MPI_Datatype)> { T::datatype().map(|datatype| ($mpi, datatype)) }
            fn commutes(&self) -> bool { true }
            fn combine(&self, $a: T, $b: T) -> T { $combined }
            fn canonical(&self, result: T) -> T { result.canonical() }
        }
    )* };
}

operations! {
    /// The sum. Integers wrap, but for those of 8 and 16 bits on Open MPI, see [Overflow](self).
    #[doc(alias = "MPI_SUM")]
    Sum: Number, MPI_SUM, |a, b| a.sum(b);
    /// The product; integers wrap.
    #[doc(alias = "MPI_PROD")]
    Prod: Number, MPI_PROD, |a, b| a.product(b);
    /// The smallest.
    #[doc(alias = "MPI_MIN")]
    Min: Ordered, MPI_MIN, |a, b| a.smaller(b);
    /// The largest.
    #[doc(alias = "MPI_MAX")]
    Max: Ordered, MPI_MAX, |a, b| a.larger(b);
    /// Bitwise and.
    #[doc(alias = "MPI_BAND")]
    Band: Integer, MPI_BAND, |a, b| a.bit_and(b);
    /// Bitwise or.
    #[doc(alias = "MPI_BOR")]
    Bor: Integer, MPI_BOR, |a, b| a.bit_or(b);
    /// Bitwise exclusive or.
    #[doc(alias = "MPI_BXOR")]
    Bxor: Integer, MPI_BXOR, |a, b| a.bit_xor(b);
    /// Logical and: 1 if all are non-zero, else 0.
    #[doc(alias = "MPI_LAND")]
    Land: Integer, MPI_LAND, |a, b| T::from_truth(a.truth() && b.truth());
    /// Logical or: 1 if any is non-zero, else 0.
    #[doc(alias = "MPI_LOR")]
    Lor: Integer, MPI_LOR, |a, b| T::from_truth(a.truth() || b.truth());
    /// Logical exclusive or: 1 if an odd number of them are non-zero, else 0.
    #[doc(alias = "MPI_LXOR")]
    Lxor: Integer, MPI_LXOR, |a, b| T::from_truth(a.truth() != b.truth());
}

macro_rules! located {
    ($( $(#[$doc:meta])* $name:ident: $mpi:ident, $better:tt; )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl<T: Locate + PartialOrd> Reduction<Located<T>> for $name {}
        impl<T: Locate + PartialOrd> Op<Located<T>> for $name {}
        impl<T: Locate + PartialOrd> description::Describe<Located<T>> for $name {
            #[inline(always)]
            fn predefined() -> Option<(MPI_Op, MPI_Datatype)> { T::pair_datatype().map(|datatype| ($mpi, datatype)) }
            fn commutes(&self) -> bool { true }
            fn combine(&self, left: Located<T>, right: Located<T>) -> Located<T> {
                nearer(left, right, right.value() $better left.value())
            }
        }
    )* };
}

located! {
    /// The smallest value and the least index at which it is.
    #[doc(alias = "MPI_MINLOC")]
    MinLoc: MPI_MINLOC, <;
    /// The largest value and the least index at which it is.
    #[doc(alias = "MPI_MAXLOC")]
    MaxLoc: MPI_MAXLOC, >;
}

/// The better one, and of two as good ones that with the smaller index.
fn nearer<T: Locate + PartialOrd>(
    left: Located<T>,
    right: Located<T>,
    right_is_better: bool,
) -> Located<T> {
    let as_good = right.value() == left.value();
    if right_is_better || (as_good && right.index() < left.index()) {
        right
    } else {
        left
    }
}
