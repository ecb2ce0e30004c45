//! Combining of elements of two PEs: the operations of `ranks_collectives::ops`, as collectives in
//! process apply them.

use std::fmt;

use ranks_collectives::ops::{Band, Bor, Bxor, Max, Min, Op, Prod, Sum};
use ranks_collectives::{Integer, Ordered};
use ranks_comm::{Error, ErrorKind, Result};

use crate::backend::{Kind, Reduce};

/// A reduction that there is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Combine {
    kind: Kind,
    op: Reduce,
    each: Each,
}

/// A loop over elements of a type.
#[derive(Debug, Clone, Copy)]
struct Each {
    /// The size of an element.
    size: usize,
    /// Combines elements of the second slice into those of the first.
    apply: fn(&mut [u8], &[u8]),
}

impl fmt::Display for Combine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.op, self.kind)
    }
}

impl Combine {
    pub(super) fn of(operation: &'static str, kind: Kind, op: Reduce) -> Result<Combine> {
        let each = match kind {
            Kind::I8 => integers::<i8>(op),
            Kind::U8 => integers::<u8>(op),
            Kind::I16 => integers::<i16>(op),
            Kind::U16 => integers::<u16>(op),
            Kind::I32 => integers::<i32>(op),
            Kind::U32 => integers::<u32>(op),
            Kind::I64 => integers::<i64>(op),
            Kind::U64 => integers::<u64>(op),
            Kind::F32 => numbers::<f32>(op),
            Kind::F64 => numbers::<f64>(op),
            #[cfg(feature = "half")]
            Kind::F16 => numbers::<half::f16>(op),
            #[cfg(feature = "half")]
            Kind::Bf16 => numbers::<half::bf16>(op),
            #[cfg(not(feature = "half"))]
            Kind::F16 | Kind::Bf16 => Err("it needs the feature `half`"),
        };
        let each = each.map_err(|why| {
            let why = format_args!("{op:?} of {kind:?}: {why}");
            Error::new(ErrorKind::Argument, operation, why)
        })?;
        Ok(Combine { kind, op, each })
    }

    /// The size of an element.
    pub(super) fn size(self) -> usize {
        self.each.size
    }

    /// Combines elements of `with` into those of `into`, which is as long.
    pub(super) fn apply(self, into: &mut [u8], with: &[u8]) {
        (self.each.apply)(into, with);
    }
}

fn integers<T: Integer>(op: Reduce) -> Result<Each, &'static str> {
    match op {
        Reduce::And => Ok(Each::of::<T, Band>()),
        Reduce::Or => Ok(Each::of::<T, Bor>()),
        Reduce::Xor => Ok(Each::of::<T, Bxor>()),
        _ => numbers::<T>(op),
    }
}

fn numbers<T: Ordered>(op: Reduce) -> Result<Each, &'static str> {
    match op {
        Reduce::Sum => Ok(Each::of::<T, Sum>()),
        Reduce::Prod => Ok(Each::of::<T, Prod>()),
        Reduce::Min => Ok(Each::of::<T, Min>()),
        Reduce::Max => Ok(Each::of::<T, Max>()),
        Reduce::And | Reduce::Or | Reduce::Xor => Err("it has no bits to combine"),
    }
}

impl Each {
    fn of<T: Ordered, O: Op<T> + Default>() -> Each {
        let size = size_of::<T>();
        let apply = |into: &mut [u8], with: &[u8]| {
            let pairs = into.chunks_exact_mut(size_of::<T>());
            for (a, b) in pairs.zip(with.chunks_exact(size_of::<T>())) {
                let (left, right) = (
                    bytemuck::pod_read_unaligned::<T>(a),
                    bytemuck::pod_read_unaligned(b),
                );
                a.copy_from_slice(bytemuck::bytes_of(&O::default().combine(left, right)));
            }
        };
        Each { size, apply }
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Pod;

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

    /// As `Min` and `Max` of `ranks_collectives::ops` do in process.
    #[test]
    fn what_is_no_number_stays_where_it_comes_first() {
        for op in [Reduce::Min, Reduce::Max] {
            let found = combined(Kind::F64, op, &[f64::NAN, 1.0], &[1.0, f64::NAN]);
            assert!(found[0].is_nan() && found[1] == 1.0, "{op:?}: {found:?}");
        }
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
