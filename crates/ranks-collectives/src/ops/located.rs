//! Values with a place: what [`MinLoc`](crate::ops::MinLoc) and [`MaxLoc`](crate::ops::MaxLoc)
//! compare.

use std::fmt;

use bytemuck::{Pod, Zeroable};

use crate::ops::number::Ordered;

/// A value and where it was found, usually a rank or an index.
///
/// ```
/// use ranks::collectives::{Collectives, Located, ops::MaxLoc};
///
/// /// The largest residual, and the rank that has it.
/// fn worst(world: &ranks::Communicator, residual: f64) -> ranks::Result<(f64, i32)> {
///     let mine = Located::new(residual, world.rank() as i32);
///     let mut worst = [mine];
///     world.allreduce(&[mine], &mut worst, MaxLoc)?;
///     Ok((worst[0].value(), worst[0].index()))
/// }
/// ```
///
/// MPI has such pairs of an `i16`, `i32`, `i64`, `f32` or `f64` and an `i32`. It lies in memory as
/// the C struct of the two does; the bytes between and behind them are always initialised, and have
/// no part in comparisons.
///
/// MPI 5.0 §6.9.4 (`MPI_MINLOC`).
#[doc(alias = "MPI_SHORT_INT")]
#[doc(alias = "MPI_2INT")]
#[doc(alias = "MPI_LONG_INT")]
#[doc(alias = "MPI_FLOAT_INT")]
#[doc(alias = "MPI_DOUBLE_INT")]
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub struct Located<T>(T::Pair)
where
    T: Locate;

/// A type whose values can be [`Located`]: `i16`, `i32`, `i64`, `f32` and `f64`. Sealed.
#[diagnostic::on_unimplemented(
    message = "MPI has no pair of `{Self}` and an index",
    label = "not `i16`, `i32`, `i64`, `f32` or `f64`"
)]
pub trait Locate: Ordered + pairs::Pairs {}

impl<T: Locate> Located<T> {
    /// `value`, found at `index`.
    #[must_use]
    pub fn new(value: T, index: i32) -> Self {
        Self(T::pair(value, index))
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> T {
        T::parts(&self.0).0
    }

    /// The place where it was found.
    #[must_use]
    pub fn index(&self) -> i32 {
        T::parts(&self.0).1
    }
}

impl<T: Locate + PartialEq> PartialEq for Located<T> {
    fn eq(&self, other: &Self) -> bool {
        T::parts(&self.0) == T::parts(&other.0)
    }
}

impl<T: Locate + fmt::Debug> fmt::Debug for Located<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Located")
            .field("value", &self.value())
            .field("index", &self.index())
            .finish()
    }
}

/// The C structs; out of reach from outside, which seals [`Locate`].
pub(crate) mod pairs {
    use super::{Pod, Zeroable};
    use ranks_mpi_sys as sys;
    use ranks_mpi_sys::MPI_Datatype;

    /// The pair of a type and an `int`.
    pub trait Pairs: Copy {
        /// It, with the bytes that C leaves between and behind.
        type Pair: Pod;
        /// MPI's type for it; `None` if MPI has none of this size here.
        fn pair_datatype() -> Option<MPI_Datatype>;
        /// Puts it together.
        fn pair(value: Self, index: i32) -> Self::Pair;
        /// Takes it apart.
        fn parts(pair: &Self::Pair) -> (Self, i32);
    }

    macro_rules! pairs {
        ($($type:ty: $name:ident { $($between:ident)? | $($behind:ident)? }, $datatype:expr;)*) => { $(
            #[derive(Debug, Clone, Copy, Pod, Zeroable)]
            #[repr(C)]
            pub struct $name {
                value: $type,
                $($between: i16,)?
                index: i32,
                $($behind: i32,)?
            }

            impl super::Locate for $type {}
            impl Pairs for $type {
                type Pair = $name;
                fn pair_datatype() -> Option<MPI_Datatype> { $datatype }
                #[inline]
                fn pair(value: $type, index: i32) -> $name {
                    let mut pair = $name::zeroed();
                    pair.value = value;
                    pair.index = index;
                    pair
                }
                #[inline]
                fn parts(pair: &$name) -> ($type, i32) { (pair.value, pair.index) }
            }
        )* };
    }

    pairs! {
        i16: ShortInt { between | }, Some(sys::MPI_SHORT_INT);
        i32: TwoInt { | }, Some(sys::MPI_2INT);
        i64: LongInt { | behind }, (size_of::<std::ffi::c_long>() == 8).then_some(sys::MPI_LONG_INT);
        f32: FloatInt { | }, Some(sys::MPI_FLOAT_INT);
        f64: DoubleInt { | behind }, Some(sys::MPI_DOUBLE_INT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_lie_as_in_c() {
        #[repr(C)]
        struct C<T>(T, std::ffi::c_int);
        assert_eq!(size_of::<Located<i16>>(), size_of::<C<i16>>());
        assert_eq!(size_of::<Located<i32>>(), size_of::<C<i32>>());
        assert_eq!(size_of::<Located<i64>>(), size_of::<C<i64>>());
        assert_eq!(size_of::<Located<f32>>(), size_of::<C<f32>>());
        assert_eq!(size_of::<Located<f64>>(), size_of::<C<f64>>());
    }

    #[test]
    fn what_lies_between_and_behind_is_not_compared() {
        let one = Located::new(7_i16, -3);
        let mut bytes: [u8; 8] = bytemuck::cast(one);
        assert_eq!((one.value(), one.index()), (7, -3));
        bytes[2..4].fill(0xff);
        let other: Located<i16> = bytemuck::cast(bytes);
        assert_eq!(one, other);
        assert_ne!(one, Located::new(7, 3));
        assert_eq!(format!("{one:?}"), "Located { value: 7, index: -3 }");
    }
}
