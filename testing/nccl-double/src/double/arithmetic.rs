//! Reductions: elements of all ranks, in the order of ranks. Small floating-point types are added
//! up as `f32` and rounded once; integers wrap around in their own width.

use std::ffi::c_int;

use half::{bf16, f16};

use super::failure::{Failure, Outcome};
use super::float8::{e4m3_to_f32, e5m2_to_f32, f32_to_e4m3, f32_to_e5m2};
use super::number::{Number, element};
use super::operator::Operator;

/// `ncclDataType_t`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dtype {
    Int8 = 0,
    Uint8 = 1,
    Int32 = 2,
    Uint32 = 3,
    Int64 = 4,
    Uint64 = 5,
    Float16 = 6,
    Float32 = 7,
    Float64 = 8,
    Bfloat16 = 9,
    Float8e4m3 = 10,
    Float8e5m2 = 11,
}

impl Dtype {
    const ALL: [Self; 12] = [
        Self::Int8,
        Self::Uint8,
        Self::Int32,
        Self::Uint32,
        Self::Int64,
        Self::Uint64,
        Self::Float16,
        Self::Float32,
        Self::Float64,
        Self::Bfloat16,
        Self::Float8e4m3,
        Self::Float8e5m2,
    ];

    /// The type of a number, if this release knows it: those of eight bits came with 2.24.
    pub(crate) fn of(number: c_int) -> Outcome<Self> {
        let known = if crate::VERSION >= 22400 { 12 } else { 10 };
        let found = usize::try_from(number)
            .ok()
            .filter(|&number| number < known);
        found
            .and_then(|number| Self::ALL.get(number).copied())
            .ok_or_else(|| Failure::argument(format!("invalid type {number}")))
    }

    /// Bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Int8 | Self::Uint8 | Self::Float8e4m3 | Self::Float8e5m2 => 1,
            Self::Float16 | Self::Bfloat16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }
}

/// A type that averages are made of.
trait Averaged: Number {
    /// What each element is multiplied by before an average is added up, for so many ranks.
    fn share(ranks: usize) -> Self;
    /// What the sum is divided by afterwards, where it is not.
    fn average(self, ranks: usize) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Averaged for $type {
            fn share(_ranks: usize) -> Self {
                1
            }
            fn average(self, ranks: usize) -> Self {
                // Toward zero, as C divides.
                Self::try_from(ranks).map_or(0, |ranks| self / ranks)
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Averaged for $type {
            fn share(ranks: usize) -> Self {
                let mut count = 0.0;
                for _ in 0..ranks {
                    count += 1.0;
                }
                1.0 / count
            }
            fn average(self, _ranks: usize) -> Self {
                self
            }
        }
    )*};
}

integers!(i8 u8 i32 u32 i64 u64);
floats!(f32 f64);

/// Reduces the blocks of all ranks, each with its factor, to `result`. All are as long.
pub(crate) fn reduce(
    dtype: Dtype,
    operator: Operator,
    blocks: &[&[u8]],
    factors: &[[u8; 8]],
    result: &mut [u8],
) {
    let all = Blocks {
        operator,
        blocks,
        factors,
    };
    match dtype {
        Dtype::Int8 => all.reduce(i8::from_ne_bytes, i8::to_ne_bytes, result),
        Dtype::Uint8 => all.reduce(u8::from_ne_bytes, u8::to_ne_bytes, result),
        Dtype::Int32 => all.reduce(i32::from_ne_bytes, i32::to_ne_bytes, result),
        Dtype::Uint32 => all.reduce(u32::from_ne_bytes, u32::to_ne_bytes, result),
        Dtype::Int64 => all.reduce(i64::from_ne_bytes, i64::to_ne_bytes, result),
        Dtype::Uint64 => all.reduce(u64::from_ne_bytes, u64::to_ne_bytes, result),
        Dtype::Float32 => all.reduce(f32::from_ne_bytes, f32::to_ne_bytes, result),
        Dtype::Float64 => all.reduce(f64::from_ne_bytes, f64::to_ne_bytes, result),
        Dtype::Float16 => all.reduce(
            |bytes| f16::from_ne_bytes(bytes).to_f32(),
            |value| f16::from_f32(value).to_ne_bytes(),
            result,
        ),
        Dtype::Bfloat16 => all.reduce(
            |bytes| bf16::from_ne_bytes(bytes).to_f32(),
            |value| bf16::from_f32(value).to_ne_bytes(),
            result,
        ),
        Dtype::Float8e4m3 => all.reduce(
            |[bits]| e4m3_to_f32(bits),
            |value| [f32_to_e4m3(value)],
            result,
        ),
        Dtype::Float8e5m2 => all.reduce(
            |[bits]| e5m2_to_f32(bits),
            |value| [f32_to_e5m2(value)],
            result,
        ),
    }
}

/// What is to be reduced.
struct Blocks<'a> {
    operator: Operator,
    blocks: &'a [&'a [u8]],
    factors: &'a [[u8; 8]],
}

impl Blocks<'_> {
    /// Reduces elements of `SIZE` bytes, which `read` and `write` turn to what is computed with,
    /// and back.
    fn reduce<const SIZE: usize, N: Averaged>(
        &self,
        read: impl Fn([u8; SIZE]) -> N,
        write: impl Fn(N) -> [u8; SIZE],
        result: &mut [u8],
    ) {
        let ranks = self.blocks.len();
        for (place, out) in result.chunks_exact_mut(SIZE).enumerate() {
            let values = self.blocks.iter().zip(self.factors);
            let values = values.filter_map(|(block, factor)| {
                let value = element(block, place, &read)?;
                Some(match self.operator {
                    Operator::Avg => value.times(N::share(ranks)),
                    Operator::PreMulSum(_) => {
                        element(factor, 0, &read).map_or(value, |factor| value.times(factor))
                    }
                    _ => value,
                })
            });
            let whole = values.reduce(|whole, value| match self.operator {
                Operator::Prod => whole.times(value),
                Operator::Max => whole.most(value),
                Operator::Min => whole.least(value),
                _ => whole.plus(value),
            });
            if let Some(whole) = whole {
                let whole = if matches!(self.operator, Operator::Avg) {
                    whole.average(ranks)
                } else {
                    whole
                };
                out.copy_from_slice(&write(whole));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::double::operator::Factor;

    fn reduced<const N: usize>(
        dtype: Dtype,
        operator: Operator,
        values: &[[u8; N]],
        factors: &[[u8; 8]],
    ) -> [u8; N] {
        let blocks: Vec<&[u8]> = values.iter().map(|value| &value[..]).collect();
        let mut result = [0; N];
        reduce(dtype, operator, &blocks, factors, &mut result);
        result
    }

    #[test]
    fn averages_of_integers_go_toward_zero() {
        let none = [[0; 8]; 3];
        let values = [
            (-5_i32).to_ne_bytes(),
            1_i32.to_ne_bytes(),
            0_i32.to_ne_bytes(),
        ];
        let mean = reduced(Dtype::Int32, Operator::Avg, &values, &none);
        assert_eq!(i32::from_ne_bytes(mean), -1);
        let values = [[200_u8], [100], [1]];
        assert_eq!(
            reduced(Dtype::Uint8, Operator::Avg, &values, &none),
            [45 / 3]
        );
    }

    #[test]
    fn halves_are_rounded_once() {
        // 2048 + 1 is no f16, but 2048 + 1 + 1 is.
        let values = [2048.0, 1.0, 1.0].map(|value| f16::from_f32(value).to_ne_bytes());
        let sum = reduced(Dtype::Float16, Operator::Sum, &values, &[[0; 8]; 3]);
        assert_eq!(f16::from_ne_bytes(sum).to_f32(), 2050.0);
        let values = [16.0, 0.5, 0.5].map(|value| [f32_to_e4m3(value)]);
        let sum = reduced(Dtype::Float8e4m3, Operator::Sum, &values, &[[0; 8]; 3]);
        assert_eq!(e4m3_to_f32(sum[0]), 16.0);
    }

    #[test]
    fn each_rank_multiplies_by_its_own_factor() {
        let factor = |value: f32| {
            let mut bytes = [0; 8];
            bytes[..4].copy_from_slice(&value.to_ne_bytes());
            bytes
        };
        let values = [3_f32, 5.0].map(f32::to_ne_bytes);
        let operator = Operator::PreMulSum(Factor::Known(factor(0.0)));
        let sum = reduced(
            Dtype::Float32,
            operator,
            &values,
            &[factor(2.0), factor(0.5)],
        );
        assert_eq!(f32::from_ne_bytes(sum), 8.5);
    }
}
