//! Elements of reductions: those of all PEs of a team, in the order of PEs. Small floating-point
//! types are added up as `f32` and rounded once.

use half::{bf16, f16};

use super::number::{Number, element};

/// What elements are, whichever of C's names they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    I8 = 1,
    U8 = 2,
    I16 = 3,
    U16 = 4,
    I32 = 5,
    U32 = 6,
    I64 = 7,
    U64 = 8,
    F16 = 9,
    Bf16 = 10,
    F32 = 11,
    F64 = 12,
}

impl Element {
    /// Bytes of one.
    pub(crate) const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// What a reduction makes of its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Sum = 1,
    Prod = 2,
    Min = 3,
    Max = 4,
    And = 5,
    Or = 6,
    Xor = 7,
}

/// Reduces the blocks of all PEs to `result`. All are as long.
pub(crate) fn reduce(kind: Element, operator: Operator, blocks: &[Vec<u8>], result: &mut [u8]) {
    // Bits are the same in every type.
    let bits: Option<fn(u8, u8) -> u8> = match operator {
        Operator::And => Some(|a, b| a & b),
        Operator::Or => Some(|a, b| a | b),
        Operator::Xor => Some(|a, b| a ^ b),
        _ => None,
    };
    if let Some(bits) = bits {
        for (at, out) in result.iter_mut().enumerate() {
            let bytes = blocks.iter().filter_map(|block| block.get(at).copied());
            *out = bytes.reduce(bits).unwrap_or(*out);
        }
        return;
    }
    let all = Blocks { operator, blocks };
    match kind {
        Element::I8 => all.reduce(i8::from_ne_bytes, i8::to_ne_bytes, result),
        Element::U8 => all.reduce(u8::from_ne_bytes, u8::to_ne_bytes, result),
        Element::I16 => all.reduce(i16::from_ne_bytes, i16::to_ne_bytes, result),
        Element::U16 => all.reduce(u16::from_ne_bytes, u16::to_ne_bytes, result),
        Element::I32 => all.reduce(i32::from_ne_bytes, i32::to_ne_bytes, result),
        Element::U32 => all.reduce(u32::from_ne_bytes, u32::to_ne_bytes, result),
        Element::I64 => all.reduce(i64::from_ne_bytes, i64::to_ne_bytes, result),
        Element::U64 => all.reduce(u64::from_ne_bytes, u64::to_ne_bytes, result),
        Element::F32 => all.reduce(f32::from_ne_bytes, f32::to_ne_bytes, result),
        Element::F64 => all.reduce(f64::from_ne_bytes, f64::to_ne_bytes, result),
        Element::F16 => all.reduce(
            |bytes| f16::from_ne_bytes(bytes).to_f32(),
            |value| f16::from_f32(value).to_ne_bytes(),
            result,
        ),
        Element::Bf16 => all.reduce(
            |bytes| bf16::from_ne_bytes(bytes).to_f32(),
            |value| bf16::from_f32(value).to_ne_bytes(),
            result,
        ),
    }
}

/// What is to be reduced.
struct Blocks<'a> {
    operator: Operator,
    blocks: &'a [Vec<u8>],
}

impl Blocks<'_> {
    /// Reduces elements of `SIZE` bytes, which `read` and `write` turn to what is computed with,
    /// and back.
    fn reduce<const SIZE: usize, N: Number>(
        &self,
        read: impl Fn([u8; SIZE]) -> N,
        write: impl Fn(N) -> [u8; SIZE],
        result: &mut [u8],
    ) {
        for (place, out) in result.chunks_exact_mut(SIZE).enumerate() {
            let blocks = self.blocks.iter();
            let values = blocks.filter_map(|block| element(block, place, &read));
            let whole = values.reduce(|whole, value| match self.operator {
                Operator::Prod => whole.times(value),
                Operator::Min => whole.least(value),
                Operator::Max => whole.most(value),
                _ => whole.plus(value),
            });
            if let Some(whole) = whole {
                out.copy_from_slice(&write(whole));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced<const N: usize>(kind: Element, operator: Operator, values: &[[u8; N]]) -> [u8; N] {
        let blocks: Vec<Vec<u8>> = values.iter().map(|value| value.to_vec()).collect();
        let mut result = [0; N];
        reduce(kind, operator, &blocks, &mut result);
        result
    }

    #[test]
    fn integers_wrap_around_in_their_own_width() {
        let values = [[200_u8], [100], [1]];
        assert_eq!(reduced(Element::U8, Operator::Sum, &values), [45]);
        assert_eq!(reduced(Element::U8, Operator::Max, &values), [200]);
        assert_eq!(reduced(Element::I8, Operator::Max, &values), [100]);
        let values = [300_i16, 300].map(i16::to_ne_bytes);
        let product = reduced(Element::I16, Operator::Prod, &values);
        assert_eq!(i16::from_ne_bytes(product), 300_i16.wrapping_mul(300));
    }

    #[test]
    fn bits_are_those_of_all() {
        let values = [0b1100_u32, 0b1010].map(u32::to_ne_bytes);
        let of = |operator| u32::from_ne_bytes(reduced(Element::U32, operator, &values));
        assert_eq!(of(Operator::And), 0b1000);
        assert_eq!(of(Operator::Or), 0b1110);
        assert_eq!(of(Operator::Xor), 0b0110);
    }

    #[test]
    fn halves_are_rounded_once() {
        // 2048 + 1 is no f16, but 2048 + 1 + 1 is.
        let values = [2048.0, 1.0, 1.0].map(|value| f16::from_f32(value).to_ne_bytes());
        let sum = reduced(Element::F16, Operator::Sum, &values);
        assert_eq!(f16::from_ne_bytes(sum).to_f32(), 2050.0);
        let values = [256.0, 1.0, 1.0].map(|value| bf16::from_f32(value).to_ne_bytes());
        let sum = reduced(Element::Bf16, Operator::Sum, &values);
        assert_eq!(bf16::from_ne_bytes(sum).to_f32(), 258.0);
    }
}
