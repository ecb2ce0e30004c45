//! The types of elements that are known at run time only.

use ranks_comm::{Error, ErrorKind, Result};

/// The type of the elements behind an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dtype {
    /// `f64`
    F64,
    /// `f32`
    F32,
    /// IEEE 754 half precision.
    F16,
    /// The upper half of an `f32`.
    Bf16,
    /// Eight bits: four of exponent, three of mantissa.
    Fp8E4m3,
    /// Eight bits: five of exponent, two of mantissa.
    Fp8E5m2,
    /// `i64`
    I64,
    /// `i32`
    I32,
    /// `i16`
    I16,
    /// `i8`
    I8,
    /// `u64`
    U64,
    /// `u32`
    U32,
    /// `u16`
    U16,
    /// `u8`
    U8,
    /// A byte that is 0 or 1. It is moved, never reduced.
    Bool,
    /// Two `f32`: real and imaginary part.
    Complex64,
    /// Two `f64`.
    Complex128,
}

impl Dtype {
    /// Every one, in the order above.
    pub const ALL: [Self; 17] = [
        Self::F64,
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Fp8E4m3,
        Self::Fp8E5m2,
        Self::I64,
        Self::I32,
        Self::I16,
        Self::I8,
        Self::U64,
        Self::U32,
        Self::U16,
        Self::U8,
        Self::Bool,
        Self::Complex64,
        Self::Complex128,
    ];

    /// The size of an element in bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Complex128 => 16,
            Self::F64 | Self::I64 | Self::U64 | Self::Complex64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 2,
            Self::Fp8E4m3 | Self::Fp8E5m2 | Self::I8 | Self::U8 | Self::Bool => 1,
        }
    }
}

/// The number of bytes of so many elements of so many ranks.
///
/// # Errors
/// [`ErrorKind::Length`] for more than memory can hold.
pub fn bytes_of(name: &'static str, count: usize, dtype: Dtype, ranks: usize) -> Result<usize> {
    count
        .checked_mul(dtype.size())
        .and_then(|bytes| bytes.checked_mul(ranks))
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or_else(|| {
            Error::new(
                ErrorKind::Length,
                name,
                format_args!("{count} elements of {dtype:?}, for {ranks} ranks, are more than memory can hold"),
            )
        })
}
