//! The element types that reductions compute with.

use bytemuck::Pod;
use ranks_comm::backend::TypeOf;
use ranks_mpi_sys::MPI_Datatype;

/// A type that [`reduce`](crate::Collectives::reduce) and its kin can add and multiply: the
/// integers from 8 to 64 bits, `isize`, `usize`, `f32` and `f64`; with the feature `num-complex`
/// also `num_complex::Complex` of the latter two, and with the feature `half` `half::f16` and
/// `half::bf16`.
///
/// The standard has no 16-bit floating-point numbers (MPICH 5.0 has types of its own for them,
/// which are not used). They are computed here, as operations of the program's own
/// ([`UserOp`](crate::ops::UserOp)) are: two at a time as `f32`, and rounded each time.
///
/// Data that is only moved (broadcast, gathered, …) may be of any [`Pod`] type instead.
///
/// The trait is sealed: MPI knows no other arithmetic types.
#[diagnostic::on_unimplemented(
    message = "reductions do not compute with `{Self}`",
    label = "not an integer of 8 to 64 bits, `f32` or `f64` (or a type of the features `half` and `num-complex`)",
    note = "any `Pod` type can be moved by bcast, gather, allgather, scatter and alltoall"
)]
pub trait Number: Pod + arithmetic::Arithmetic {}

/// A [`Number`] of which one is larger than another: what [`Min`](crate::ops::Min) and
/// [`Max`](crate::ops::Max) compare.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no order, so reductions find no smallest or largest",
    label = "not an integer or a floating-point number"
)]
pub trait Ordered: Number + arithmetic::Compare {}

/// A [`Number`] with bits and a truth value: the integers, signed and unsigned, from 8 to 64 bits.
#[diagnostic::on_unimplemented(
    message = "bitwise and logical reductions are not defined for `{Self}`",
    label = "not an integer",
    note = "MPI 5.0 §6.9.2 defines Band, Bor, Bxor, Land, Lor and Lxor on integers alone"
)]
pub trait Integer: Ordered + arithmetic::Bits {}

/// The arithmetic of the in-process backend; out of reach from outside, which seals [`Number`] and
/// [`Integer`].
pub(crate) mod arithmetic {
    use ranks_mpi_sys::MPI_Datatype;

    /// The arithmetic of numbers. Integers wrap, as they do in the C loops of MPI libraries.
    pub trait Arithmetic: Copy {
        /// MPI's own type for it, one item an element; `None` if MPI does not compute with it.
        fn datatype() -> Option<MPI_Datatype>;
        /// `self + other`
        #[must_use]
        fn sum(self, other: Self) -> Self;
        /// `self · other`
        #[must_use]
        fn product(self, other: Self) -> Self;
        /// The same number, and of all NaNs the same one: which of them arithmetic makes is up to
        /// processor and compiler.
        #[must_use]
        fn canonical(self) -> Self {
            self
        }
    }

    /// The order of numbers.
    pub trait Compare: Copy {
        /// `other` if it is smaller, else `self`.
        #[must_use]
        fn smaller(self, other: Self) -> Self;
        /// `other` if it is larger, else `self`.
        #[must_use]
        fn larger(self, other: Self) -> Self;
    }

    /// Bits, and truth in the sense of C: zero is false, all else is true, and the result is 0 or
    /// 1.
    pub trait Bits: Copy {
        /// `self & other`
        #[must_use]
        fn bit_and(self, other: Self) -> Self;
        /// `self | other`
        #[must_use]
        fn bit_or(self, other: Self) -> Self;
        /// `self ^ other`
        #[must_use]
        fn bit_xor(self, other: Self) -> Self;
        /// Returns `true` if this is not zero.
        #[must_use]
        fn truth(self) -> bool;
        /// 1 for true, 0 for false.
        #[must_use]
        fn from_truth(truth: bool) -> Self;
    }
}

/// Implements the traits for types that have the same code but not the same trait of `std`.
macro_rules! integers {
    ($($type:ty)*) => { $(
        impl Number for $type {}
        impl Integer for $type {}
        impl Ordered for $type {}
        impl arithmetic::Arithmetic for $type {
            #[inline(always)]
            fn datatype() -> Option<MPI_Datatype> { Some(TypeOf::<$type>::datatype()) }
            #[inline]
            fn sum(self, other: $type) -> $type { self.wrapping_add(other) }
            #[inline]
            fn product(self, other: $type) -> $type { self.wrapping_mul(other) }
        }
        impl arithmetic::Compare for $type {
            #[inline]
            fn smaller(self, other: $type) -> $type { if other < self { other } else { self } }
            #[inline]
            fn larger(self, other: $type) -> $type { if other > self { other } else { self } }
        }
        impl arithmetic::Bits for $type {
            #[inline]
            fn bit_and(self, other: $type) -> $type { self & other }
            #[inline]
            fn bit_or(self, other: $type) -> $type { self | other }
            #[inline]
            fn bit_xor(self, other: $type) -> $type { self ^ other }
            #[inline]
            fn truth(self) -> bool { self != 0 }
            #[inline]
            fn from_truth(truth: bool) -> $type { <$type>::from(truth) }
        }
    )* };
}

macro_rules! floats {
    ($($type:ty: $datatype:expr;)*) => { $(
        impl Number for $type {}
        impl Ordered for $type {}
        impl arithmetic::Arithmetic for $type {
            #[inline(always)]
            fn datatype() -> Option<MPI_Datatype> { $datatype }
            #[inline]
            fn sum(self, other: $type) -> $type { self + other }
            #[inline]
            fn product(self, other: $type) -> $type { self * other }
            #[inline]
            fn canonical(self) -> $type { if self.is_nan() { <$type>::NAN } else { self } }
        }
        impl arithmetic::Compare for $type {
            #[inline]
            fn smaller(self, other: $type) -> $type { if other < self { other } else { self } }
            #[inline]
            fn larger(self, other: $type) -> $type { if other > self { other } else { self } }
        }
    )* };
}

integers! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }
floats! {
    f32: Some(TypeOf::<f32>::datatype());
    f64: Some(TypeOf::<f64>::datatype());
}

#[cfg(feature = "half")]
floats! { half::f16: None; half::bf16: None; }

#[cfg(feature = "num-complex")]
macro_rules! complex {
    ($($type:ty: $datatype:expr;)*) => { $(
        impl Number for num_complex::Complex<$type> {}
        impl arithmetic::Arithmetic for num_complex::Complex<$type> {
            #[inline(always)]
            fn datatype() -> Option<MPI_Datatype> { Some($datatype) }
            #[inline]
            fn sum(self, other: Self) -> Self { self + other }
            #[inline]
            fn product(self, other: Self) -> Self { self * other }
            #[inline]
            fn canonical(self) -> Self { Self::new(self.re.canonical(), self.im.canonical()) }
        }
    )* };
}

#[cfg(feature = "num-complex")]
complex! {
    f32: ranks_mpi_sys::MPI_C_FLOAT_COMPLEX;
    f64: ranks_mpi_sys::MPI_C_DOUBLE_COMPLEX;
}
