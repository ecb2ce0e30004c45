//! Combining of elements of two PEs.

use std::fmt;

use bytemuck::Pod;
use ranks_comm::{Error, ErrorKind, Result};

use crate::backend::{Kind, Reduce};

/// A reduction that there is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Combine {
    kind: Kind,
    op: Reduce,
}

impl fmt::Display for Combine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.op, self.kind)
    }
}

impl Combine {
    pub(super) fn of(operation: &'static str, kind: Kind, op: Reduce) -> Result<Combine> {
        let bits = matches!(op, Reduce::And | Reduce::Or | Reduce::Xor);
        let combine = Combine { kind, op };
        let why = match kind {
            Kind::F32 | Kind::F64 | Kind::F16 | Kind::Bf16 if bits => "it has no bits to combine",
            Kind::F16 | Kind::Bf16 if cfg!(not(feature = "half")) => "it needs the feature `half`",
            _ => return Ok(combine),
        };
        let why = format_args!("{combine}: {why}");
        Err(Error::new(ErrorKind::Argument, operation, why))
    }

    /// The size of an element.
    pub(super) fn size(self) -> usize {
        match self.kind {
            Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 | Kind::F16 | Kind::Bf16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 => 8,
        }
    }

    /// Combines elements of `with` into those of `into`, which is as long.
    pub(super) fn apply(self, into: &mut [u8], with: &[u8]) {
        let op = self.op;
        match self.kind {
            Kind::I8 => each::<i8>(into, with, op),
            Kind::U8 => each::<u8>(into, with, op),
            Kind::I16 => each::<i16>(into, with, op),
            Kind::U16 => each::<u16>(into, with, op),
            Kind::I32 => each::<i32>(into, with, op),
            Kind::U32 => each::<u32>(into, with, op),
            Kind::I64 => each::<i64>(into, with, op),
            Kind::U64 => each::<u64>(into, with, op),
            Kind::F32 => each::<f32>(into, with, op),
            Kind::F64 => each::<f64>(into, with, op),
            #[cfg(feature = "half")]
            Kind::F16 => each::<half::f16>(into, with, op),
            #[cfg(feature = "half")]
            Kind::Bf16 => each::<half::bf16>(into, with, op),
            // Refused when it was made.
            #[cfg(not(feature = "half"))]
            Kind::F16 | Kind::Bf16 => (),
        }
    }
}

trait Element: Pod {
    fn combine(op: Reduce, a: Self, b: Self) -> Self;
}

fn each<T: Element>(into: &mut [u8], with: &[u8], op: Reduce) {
    let size = size_of::<T>();
    for (a, b) in into.chunks_exact_mut(size).zip(with.chunks_exact(size)) {
        let combined = T::combine(
            op,
            bytemuck::pod_read_unaligned(a),
            bytemuck::pod_read_unaligned(b),
        );
        a.copy_from_slice(bytemuck::bytes_of(&combined));
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Element for $type {
            fn combine(op: Reduce, a: Self, b: Self) -> Self {
                match op {
                    Reduce::Sum => a.wrapping_add(b),
                    Reduce::Prod => a.wrapping_mul(b),
                    Reduce::Min => a.min(b),
                    Reduce::Max => a.max(b),
                    Reduce::And => a & b,
                    Reduce::Or => a | b,
                    Reduce::Xor => a ^ b,
                }
            }
        }
    )*};
}

integers!(i8, u8, i16, u16, i32, u32, i64, u64);

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Element for $type {
            fn combine(op: Reduce, a: Self, b: Self) -> Self {
                match op {
                    Reduce::Sum => a + b,
                    Reduce::Prod => a * b,
                    Reduce::Min => a.min(b),
                    Reduce::Max => a.max(b),
                    // Refused when it was made.
                    Reduce::And | Reduce::Or | Reduce::Xor => a,
                }
            }
        }
    )*};
}

floats!(f32, f64);
#[cfg(feature = "half")]
floats!(half::f16, half::bf16);

#[cfg(test)]
mod tests {
    use super::*;

    fn combined<T: Pod>(kind: Kind, op: Reduce, a: &[T], b: &[T]) -> Vec<T> {
        let combine = Combine::of("a test", kind, op).unwrap();
        assert_eq!(combine.size(), size_of::<T>());
        let mut into = a.to_vec();
        combine.apply(bytemuck::cast_slice_mut(&mut into), bytemuck::cast_slice(b));
        into
    }

    #[test]
    fn elements_are_combined_as_the_names_say() {
        use Reduce::{And, Max, Min, Or, Prod, Sum, Xor};
        let (a, b) = ([-6_i16, 7, i16::MAX], [3, -2, 1]);
        let expected = [
            (Sum, [-3, 5, i16::MIN]),
            (Prod, [-18, -14, i16::MAX]),
            (Min, [-6, -2, 1]),
            (Max, [3, 7, i16::MAX]),
            (And, [-6 & 3, 7 & -2, 1]),
            (Or, [-6 | 3, 7 | -2, i16::MAX]),
            (Xor, [-6 ^ 3, 7 ^ -2, i16::MAX ^ 1]),
        ];
        for (op, expected) in expected {
            assert_eq!(combined(Kind::I16, op, &a, &b), expected, "{op:?}");
        }
        assert_eq!(combined(Kind::F64, Sum, &[0.5], &[0.25]), [0.75]);
        assert_eq!(combined(Kind::F32, Max, &[-1.5_f32], &[-2.0]), [-1.5]);
        assert_eq!(combined(Kind::U64, Max, &[1_u64 << 63], &[5]), [1 << 63]);
        assert_eq!(combined(Kind::U8, Sum, &[250_u8], &[10]), [4]);
    }

    #[cfg(feature = "half")]
    #[test]
    fn halves_are_combined() {
        use half::{bf16, f16};
        let (a, b) = (f16::from_f32(1.5), f16::from_f32(2.0));
        let product = combined(Kind::F16, Reduce::Prod, &[a], &[b]);
        assert_eq!(product, [f16::from_f32(3.0)]);
        let (a, b) = (bf16::from_f32(1.5), bf16::from_f32(2.0));
        assert_eq!(combined(Kind::Bf16, Reduce::Min, &[a], &[b]), [a]);
    }

    #[test]
    fn floats_have_no_bits() {
        for kind in [Kind::F32, Kind::F64, Kind::F16, Kind::Bf16] {
            assert!(Combine::of("a test", kind, Reduce::Xor).is_err());
        }
        let half = Combine::of("a test", Kind::F16, Reduce::Sum);
        assert_eq!(half.is_ok(), cfg!(feature = "half"));
    }
}
