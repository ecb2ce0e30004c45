//! Numbers that rounding is about: those with fractions.

use crate::ops::number::Number;

/// A [`Number`] that can be divided: `f32`, `f64`, and with the features `half` and `num-complex`
/// the types of those.
///
/// The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fractions",
    label = "not a floating-point or complex number"
)]
pub trait Fractional: Number + fractions::Fractions {}

/// Their arithmetic; out of reach from outside, which seals [`Fractional`].
pub(crate) mod fractions {
    use crate::ops::number::arithmetic::Arithmetic;

    /// Numbers of one or two components that are binary floating-point numbers, none wider than an
    /// `f64`.
    pub trait Fractions: Arithmetic {
        /// The number of components.
        const COMPONENTS: usize;
        /// `self - other`
        #[must_use]
        fn difference(self, other: Self) -> Self;
        /// `self / divisor`
        #[must_use]
        fn quotient(self, divisor: usize) -> Self;
        /// The same with zero for each component that is not finite.
        #[must_use]
        fn finite_or_zero(self) -> Self;
        /// A component, which an `f64` says exactly.
        fn component(self, index: usize) -> f64;
        /// The number with these components, each rounded by what is passed to the form that it is
        /// told.
        #[must_use]
        fn rounded(component: impl Fn(usize, FloatFormat) -> u64) -> Self;
    }

    /// A binary form of floating-point numbers, IEEE 754's or like it.
    #[derive(Debug, Clone, Copy)]
    pub struct FloatFormat {
        /// Binary digits, with the one that is not stored.
        pub digits: u32,
        /// The exponent of the smallest number above zero.
        pub lowest: i32,
        /// Bits in all.
        pub bits: u32,
    }
}

macro_rules! fractional {
    ($($type:ty: $bits:ty, $lowest:expr, |$number:ident| $as_f64:expr, |$divisor:ident| $divided:expr;)*) => { $(
        impl Fractional for $type {}
        impl fractions::Fractions for $type {
            const COMPONENTS: usize = 1;
            #[inline]
            fn difference(self, other: $type) -> $type { self - other }
            #[allow(clippy::cast_precision_loss, reason = "there are not so many ranks")]
            #[inline]
            fn quotient(self, $divisor: usize) -> $type { let $number = self; $divided }
            #[inline]
            fn finite_or_zero(self) -> $type { if self.is_finite() { self } else { <$type>::from_bits(0) } }
            #[inline]
            fn component(self, _: usize) -> f64 { let $number = self; $as_f64 }
            #[allow(clippy::cast_possible_truncation, reason = "the form has that many bits")]
            fn rounded(component: impl Fn(usize, fractions::FloatFormat) -> u64) -> $type {
                let form = fractions::FloatFormat { digits: <$type>::MANTISSA_DIGITS, lowest: $lowest, bits: <$bits>::BITS };
                <$type>::from_bits(component(0, form) as $bits)
            }
        }
    )* };
}

fractional! {
    f32: u32, -149, |number| f64::from(number), |divisor| number / divisor as f32;
    f64: u64, -1074, |number| number, |divisor| number / divisor as f64;
}

#[cfg(feature = "half")]
fractional! {
    half::f16: u16, -24, |number| number.to_f64(), |divisor| Self::from_f32(number.to_f32() / divisor as f32);
    half::bf16: u16, -133, |number| number.to_f64(), |divisor| Self::from_f32(number.to_f32() / divisor as f32);
}

#[cfg(feature = "num-complex")]
macro_rules! complex {
    ($($type:ty)*) => { $(
        impl Fractional for num_complex::Complex<$type> {}
        impl fractions::Fractions for num_complex::Complex<$type> {
            const COMPONENTS: usize = 2;
            #[inline]
            fn difference(self, other: Self) -> Self { self - other }
            #[inline]
            fn quotient(self, divisor: usize) -> Self {
                Self::new(self.re.quotient(divisor), self.im.quotient(divisor))
            }
            #[inline]
            fn finite_or_zero(self) -> Self { Self::new(self.re.finite_or_zero(), self.im.finite_or_zero()) }
            #[inline]
            fn component(self, index: usize) -> f64 { (if index == 0 { self.re } else { self.im }).into() }
            fn rounded(component: impl Fn(usize, fractions::FloatFormat) -> u64) -> Self {
                let part = |index| <$type>::rounded(|_, form| component(index, form));
                Self::new(part(0), part(1))
            }
        }
    )* };
}

#[cfg(feature = "num-complex")]
complex! { f32 f64 }
