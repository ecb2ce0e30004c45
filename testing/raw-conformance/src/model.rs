//! What reductions should give: numbers that every type says exactly, combined by a loop.

use ranks_raw::{Dtype, RawOp};

/// A number, with an imaginary part where the type has one.
pub(super) type Number = (f64, f64);

/// What a type is, as far as the cases need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Float,
    Signed,
    Unsigned,
    Complex,
    Bool,
}

pub(super) fn class(dtype: Dtype) -> Class {
    match dtype {
        Dtype::I64 | Dtype::I32 | Dtype::I16 | Dtype::I8 => Class::Signed,
        Dtype::U64 | Dtype::U32 | Dtype::U16 | Dtype::U8 => Class::Unsigned,
        Dtype::Complex64 | Dtype::Complex128 => Class::Complex,
        Dtype::Bool => Class::Bool,
        _ => Class::Float,
    }
}

/// The element that rank `rank` has at `index`: small, so that sums and products of a few ranks are
/// exact in every type.
pub(super) fn value(dtype: Dtype, rank: usize, index: usize) -> Number {
    let size = match rank {
        0..4 => 1 + (rank + index) % 3,
        _ => 1,
    };
    let size = u8::try_from(size).map_or(1.0, f64::from);
    let negative = (rank + 2 * index).is_multiple_of(5);
    match class(dtype) {
        Class::Unsigned | Class::Bool => (size, 0.0),
        Class::Complex => (size, if index.is_multiple_of(2) { 1.0 } else { -1.0 }),
        Class::Signed | Class::Float => (if negative { -size } else { size }, 0.0),
    }
}

/// The factor of a rank for [`RawOp::PreMulSum`].
pub(super) fn factor(rank: usize) -> f64 {
    if rank.is_multiple_of(2) { 1.0 } else { 2.0 }
}

/// Every operation, as `rank` passes it.
pub(super) fn operations(rank: usize) -> [RawOp; 9] {
    [
        RawOp::Sum,
        RawOp::Prod,
        RawOp::Min,
        RawOp::Max,
        RawOp::Avg,
        RawOp::PreMulSum(factor(rank)),
        RawOp::Band,
        RawOp::Bor,
        RawOp::Bxor,
    ]
}

/// The element at `index` of a reduction over ranks `0..size`.
pub(super) fn reduced(dtype: Dtype, op: RawOp, size: usize, index: usize) -> Number {
    let of = |rank| match op {
        RawOp::PreMulSum(_) => {
            let (re, im) = value(dtype, rank, index);
            (re * factor(rank), im * factor(rank))
        }
        _ => value(dtype, rank, index),
    };
    let combined = (1..size).fold(of(0), |left, rank| combined(op, left, of(rank)));
    match op {
        RawOp::Avg => {
            let ranks = u32::try_from(size).map_or(1.0, f64::from);
            let (re, im) = (combined.0 / ranks, combined.1 / ranks);
            match class(dtype) {
                Class::Float | Class::Complex => (re, im),
                _ => (re.trunc(), 0.0),
            }
        }
        _ => combined,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "small whole numbers"
)]
fn combined(op: RawOp, left: Number, right: Number) -> Number {
    let bits = |of: fn(i64, i64) -> i64| (of(left.0 as i64, right.0 as i64) as f64, 0.0);
    match op {
        RawOp::Prod => (
            left.0 * right.0 - left.1 * right.1,
            left.0 * right.1 + left.1 * right.0,
        ),
        RawOp::Min => (left.0.min(right.0), 0.0),
        RawOp::Max => (left.0.max(right.0), 0.0),
        RawOp::Band => bits(|a, b| a & b),
        RawOp::Bor => bits(|a, b| a | b),
        RawOp::Bxor => bits(|a, b| a ^ b),
        _ => (left.0 + right.0, left.1 + right.1),
    }
}

/// How far a result may be from the model's, relative to it, or to 1 if that is more: an average
/// may be rounded before it is added up.
pub(super) fn tolerance(dtype: Dtype, op: RawOp) -> f64 {
    match dtype {
        Dtype::Fp8E4m3 => 0.25,
        Dtype::Fp8E5m2 => 0.5,
        _ if op != RawOp::Avg => 0.0,
        Dtype::F16 => 2e-3,
        Dtype::Bf16 => 2e-2,
        Dtype::F32 | Dtype::Complex64 => 1e-6,
        Dtype::F64 | Dtype::Complex128 => 1e-14,
        _ => 0.0,
    }
}

/// `count` elements from the one at `first` on, as `of` says them, in the machine's form.
pub(super) fn encoded(
    dtype: Dtype,
    first: usize,
    count: usize,
    of: impl Fn(usize) -> Number,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count * dtype.size());
    for index in first..first + count {
        encode(dtype, of(index), &mut bytes);
    }
    bytes
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers that the type says exactly"
)]
fn encode(dtype: Dtype, (re, im): Number, bytes: &mut Vec<u8>) {
    match dtype {
        Dtype::F64 => bytes.extend(re.to_ne_bytes()),
        Dtype::F32 => bytes.extend((re as f32).to_ne_bytes()),
        Dtype::F16 => bytes.extend(small_float(re, 5, 10).to_ne_bytes()),
        Dtype::Bf16 => bytes.extend(small_float(re, 8, 7).to_ne_bytes()),
        Dtype::Fp8E4m3 => bytes.push(small_float(re, 4, 3) as u8),
        Dtype::Fp8E5m2 => bytes.push(small_float(re, 5, 2) as u8),
        Dtype::I64 => bytes.extend((re as i64).to_ne_bytes()),
        Dtype::I32 => bytes.extend((re as i32).to_ne_bytes()),
        Dtype::I16 => bytes.extend((re as i16).to_ne_bytes()),
        Dtype::I8 => bytes.extend((re as i8).to_ne_bytes()),
        Dtype::U64 => bytes.extend((re as u64).to_ne_bytes()),
        Dtype::U32 => bytes.extend((re as u32).to_ne_bytes()),
        Dtype::U16 => bytes.extend((re as u16).to_ne_bytes()),
        Dtype::U8 | Dtype::Bool => bytes.push(re as u8),
        Dtype::Complex64 => {
            bytes.extend((re as f32).to_ne_bytes());
            bytes.extend((im as f32).to_ne_bytes());
        }
        Dtype::Complex128 => {
            bytes.extend(re.to_ne_bytes());
            bytes.extend(im.to_ne_bytes());
        }
        _ => panic!("no case has elements of {dtype:?}"),
    }
}

/// The elements in `bytes`.
#[expect(clippy::cast_precision_loss, reason = "small whole numbers")]
pub(super) fn decoded(dtype: Dtype, bytes: &[u8]) -> Vec<Number> {
    let one = |element: &[u8]| match dtype {
        Dtype::F64 => (f64::from_ne_bytes(array(element)), 0.0),
        Dtype::F32 => (f32::from_ne_bytes(array(element)).into(), 0.0),
        Dtype::F16 => (small_number(u16::from_ne_bytes(array(element)), 5, 10), 0.0),
        Dtype::Bf16 => (small_number(u16::from_ne_bytes(array(element)), 8, 7), 0.0),
        Dtype::Fp8E4m3 => (small_number(element[0].into(), 4, 3), 0.0),
        Dtype::Fp8E5m2 => (small_number(element[0].into(), 5, 2), 0.0),
        Dtype::I64 => (i64::from_ne_bytes(array(element)) as f64, 0.0),
        Dtype::I32 => (i32::from_ne_bytes(array(element)).into(), 0.0),
        Dtype::I16 => (i16::from_ne_bytes(array(element)).into(), 0.0),
        Dtype::I8 => (i8::from_ne_bytes(array(element)).into(), 0.0),
        Dtype::U64 => (u64::from_ne_bytes(array(element)) as f64, 0.0),
        Dtype::U32 => (u32::from_ne_bytes(array(element)).into(), 0.0),
        Dtype::U16 => (u16::from_ne_bytes(array(element)).into(), 0.0),
        Dtype::U8 | Dtype::Bool => (element[0].into(), 0.0),
        Dtype::Complex64 => (
            f32::from_ne_bytes(array(&element[..4])).into(),
            f32::from_ne_bytes(array(&element[4..])).into(),
        ),
        Dtype::Complex128 => (
            f64::from_ne_bytes(array(&element[..8])),
            f64::from_ne_bytes(array(&element[8..])),
        ),
        _ => panic!("no case has elements of {dtype:?}"),
    };
    bytes.chunks_exact(dtype.size()).map(one).collect()
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[..N]);
    array
}

/// A number in a binary form with so many bits of exponent and of mantissa, which says it exactly,
/// and not as a subnormal one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "numbers that the form says exactly, in at most 16 bits"
)]
fn small_float(number: f64, exponent: u32, mantissa: u32) -> u16 {
    let bits = number.to_bits();
    let sign = ((bits >> 63) << (exponent + mantissa)) as u16;
    if number == 0.0 {
        return sign;
    }
    let bias = (1 << (exponent - 1)) - 1;
    let power = ((bits >> 52) & 0x7ff) + bias - 1023;
    let digits = (bits & ((1 << 52) - 1)) >> (52 - mantissa);
    sign | (power << mantissa) as u16 | digits as u16
}

/// The same the other way.
fn small_number(bits: u16, exponent: u32, mantissa: u32) -> f64 {
    let bits = u64::from(bits);
    let sign = (bits >> (exponent + mantissa)) << 63;
    let magnitude = bits & ((1 << (exponent + mantissa)) - 1);
    if magnitude == 0 {
        return f64::from_bits(sign);
    }
    let bias = (1 << (exponent - 1)) - 1;
    let power = (magnitude >> mantissa) + 1023 - bias;
    let digits = magnitude & ((1 << mantissa) - 1);
    f64::from_bits(sign | power << 52 | digits << (52 - mantissa))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for dtype in Dtype::ALL {
            let of = |index| value(dtype, index % 4, index);
            let bytes = encoded(dtype, 3, 20, of);
            assert_eq!(decoded(dtype, &bytes), (3..23).map(of).collect::<Vec<_>>());
        }
    }

    #[test]
    fn small_forms_are_those_of_the_standard() {
        assert_eq!(small_float(1.0, 5, 10), 0x3c00);
        assert_eq!(small_float(-2.0, 8, 7), 0xc000);
        assert_eq!(small_float(3.0, 4, 3), 0x44);
        assert_eq!(small_number(0x3555, 5, 10), 0.333_251_953_125);
    }
}
