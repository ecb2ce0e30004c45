//! A sum that is never rounded, so that it does not matter in which order numbers are added.
//!
//! It is a fixed-point number wide enough for 2⁶³ of the largest `f64`, after Kulisch: limbs of 32
//! bits, each kept in an `i64`, so that 2³⁰ numbers can be added, or the limbs of as many ranks,
//! before carries must be passed on.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number is cut into 32 bits on purpose, and places of bits are below 2^12"
)]

use crate::ops::fractional::fractions::FloatFormat;

/// The number of words of an accumulator. The sum of two accumulators, word by word, is that of
/// what was added to them.
pub(super) const WORDS: usize = LIMBS + 3;

/// From 2^-1074, the lowest bit of the smallest `f64`, on.
const LIMBS: usize = 68;
const LOWEST: i32 = -1074;
const LIMB: u32 = 32;
const LOW: i64 = (1 << LIMB) - 1;

/// The word that counts the NaNs that were added; infinities follow.
const NAN: usize = LIMBS;
const INFINITE: usize = LIMBS + 1;
const NEGATIVE_INFINITE: usize = LIMBS + 2;

/// The number of additions before carries are passed on: each adds less than 2³² to a limb.
const BEFORE_CARRIES: u32 = 1 << 30;

#[derive(Clone)]
pub(super) struct Accumulator {
    words: [i64; WORDS],
    added: u32,
}

impl Accumulator {
    pub(super) const ZERO: Self = Self {
        words: [0; WORDS],
        added: 0,
    };

    /// The accumulator that has travelled, at the beginning of `words`.
    pub(super) fn from_words(words: &[i64]) -> Self {
        let mut sum = Self::ZERO;
        sum.words.copy_from_slice(&words[..WORDS]);
        sum
    }

    /// The words that travel: limbs of 32 bits, the last one with the sign, and flags of one bit.
    pub(super) fn into_words(mut self) -> [i64; WORDS] {
        self.pass_carries();
        for flag in &mut self.words[LIMBS..] {
            *flag = (*flag).min(1);
        }
        self.words
    }

    #[inline]
    pub(super) fn add(&mut self, number: f64) {
        let bits = number.to_bits();
        let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
        if exponent == 0x7ff {
            return self.add_special(number);
        }
        // A number whose exponent is 0 has no digit that is not stored, and the place of those with
        // exponent 1.
        let (digits, place) = match exponent {
            0 => (fraction, 0),
            _ => (fraction | 1 << 52, exponent - 1),
        };
        let (limb, shift) = ((place / u64::from(LIMB)) as usize, place % u64::from(LIMB));
        let wide = u128::from(digits) << shift;
        let sign = if number.is_sign_negative() { -1 } else { 1 };
        // At most 52 + 31 bits behind the first of the limb: three of them.
        for (index, word) in self.words[limb..limb + 3].iter_mut().enumerate() {
            *word += sign * ((wide >> (LIMB as usize * index)) as i64 & LOW);
        }
        self.added += 1;
        if self.added == BEFORE_CARRIES {
            self.pass_carries();
        }
    }

    #[cold]
    fn add_special(&mut self, number: f64) {
        let place = match number {
            f64::INFINITY => INFINITE,
            f64::NEG_INFINITY => NEGATIVE_INFINITE,
            _ => NAN,
        };
        self.words[place] = 1;
    }

    /// Leaves 32 bits in each limb but the last, which has the sign.
    fn pass_carries(&mut self) {
        for limb in 0..LIMBS - 1 {
            let carry = self.words[limb] >> LIMB;
            self.words[limb] &= LOW;
            self.words[limb + 1] += carry;
        }
        self.added = 0;
    }

    /// The bits of the number of that form that is nearest to the sum, the even one of two.
    pub(super) fn round(mut self, form: FloatFormat) -> u64 {
        self.pass_carries();
        let infinite = ((1 << (form.bits - form.digits)) - 1) << (form.digits - 1);
        let negative_infinite = infinite | 1 << (form.bits - 1);
        match [NAN, INFINITE, NEGATIVE_INFINITE].map(|place| self.words[place] > 0) {
            [false, false, false] => {}
            [false, true, false] => return infinite,
            [false, false, true] => return negative_infinite,
            _ => return infinite | 1 << (form.digits - 2),
        }
        let sign = if self.words[LIMBS - 1] < 0 {
            self.words[..LIMBS]
                .iter_mut()
                .for_each(|limb| *limb = -*limb);
            self.pass_carries();
            1 << (form.bits - 1)
        } else {
            0
        };
        sign | self.magnitude(form).min(infinite)
    }

    /// The same of a sum that is not negative; more than the bits of infinity if it is beyond the
    /// largest number.
    fn magnitude(&self, form: FloatFormat) -> u64 {
        let Some(top) = self.top() else {
            return 0;
        };
        // The lowest bit that a number of the form, with the same highest bit or with no higher
        // exponent, can have.
        let lowest = form.lowest.abs_diff(LOWEST);
        let cut = lowest.max((top + 1).saturating_sub(form.digits));
        let digits = (cut..=top.max(cut))
            .rev()
            .fold(0, |digits, place| digits << 1 | self.bit(place));
        let half = cut > 0 && self.bit(cut - 1) == 1;
        let more = || (0..cut - 1).any(|place| self.bit(place) == 1);
        let up = half && (digits & 1 == 1 || more());
        // The digit that is not stored adds one to the exponent, and so does a carry out of the
        // others.
        (u64::from(cut - lowest) << (form.digits - 1)) + digits + u64::from(up)
    }

    /// The place of the highest bit.
    fn top(&self) -> Option<u32> {
        let limb = self.words[..LIMBS].iter().rposition(|&limb| limb != 0)?;
        Some(limb as u32 * LIMB + self.words[limb].ilog2())
    }

    fn bit(&self, place: u32) -> u64 {
        let limb = self.words[(place / LIMB) as usize];
        (limb >> (place % LIMB) & 1) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F64: FloatFormat = FloatFormat {
        digits: 53,
        lowest: -1074,
        bits: 64,
    };
    const F32: FloatFormat = FloatFormat {
        digits: 24,
        lowest: -149,
        bits: 32,
    };

    fn sum(numbers: &[f64]) -> Accumulator {
        let mut sum = Accumulator::ZERO;
        numbers.iter().for_each(|&number| sum.add(number));
        sum
    }

    #[track_caller]
    fn expect(numbers: &[f64], expected: f64) {
        let found = f64::from_bits(sum(numbers).round(F64));
        assert_eq!(
            found.to_bits(),
            expected.to_bits(),
            "{numbers:?}: {found:e}"
        );
        // Not only here, but also where it has travelled.
        let words = sum(numbers).into_words();
        assert_eq!(
            Accumulator::from_words(&words).round(F64),
            expected.to_bits()
        );
    }

    #[test]
    fn one_number_is_itself() {
        let tiny = f64::from_bits(1);
        for number in [
            1.0,
            0.1,
            tiny,
            f64::MIN_POSITIVE,
            f64::MIN_POSITIVE - tiny,
            f64::MAX,
            3e-300,
        ] {
            expect(&[number], number);
            expect(&[-number], -number);
            expect(&[number, -number], 0.0);
        }
        expect(&[], 0.0);
        expect(&[-0.0], 0.0);
    }

    #[test]
    fn nothing_is_lost_between() {
        expect(
            &[f64::MAX, 1.0, f64::MAX, -f64::MAX, 1e-300, -f64::MAX],
            1.0,
        );
        expect(&[1e16, 1.0, 1.0], 1e16 + 2.0);
        expect(
            &[f64::MIN_POSITIVE, -f64::from_bits(1)],
            f64::MIN_POSITIVE - f64::from_bits(1),
        );
        expect(&[1e300, -1e-300, -1e300], -1e-300);
    }

    #[test]
    fn halves_go_to_even_and_more_than_halves_up() {
        let unit = f64::EPSILON;
        expect(&[1.0, unit / 2.0], 1.0);
        expect(&[1.0, unit, unit / 2.0], 1.0 + 2.0 * unit);
        expect(&[1.0, unit / 2.0, 1e-300], 1.0 + unit);
        expect(&[-1.0, -unit / 2.0, -1e-300], -1.0 - unit);
        expect(&[2.0, -unit / 2.0], 2.0);
    }

    #[test]
    fn too_large_is_infinite() {
        expect(&[f64::MAX, f64::MAX], f64::INFINITY);
        expect(&[-f64::MAX, -f64::MAX], f64::NEG_INFINITY);
        expect(&[f64::MAX, f64::MAX * f64::EPSILON / 8.0], f64::MAX);
        expect(&[f64::MAX, f64::MAX * f64::EPSILON / 2.0], f64::INFINITY);
        expect(&[f64::INFINITY, -f64::MAX], f64::INFINITY);
        expect(&[f64::NEG_INFINITY, 1.0], f64::NEG_INFINITY);
        expect(&[f64::INFINITY, f64::NEG_INFINITY], f64::NAN);
        expect(&[-f64::NAN, 1.0], f64::NAN);
    }

    #[test]
    fn other_forms_are_rounded_once() {
        let rounded =
            |numbers: &[f64]| f32::from_bits(u32::try_from(sum(numbers).round(F32)).unwrap());
        // By way of an f64 it would be halfway between two f32, and go to the even one.
        let (unit, little) = (f64::from(f32::EPSILON), 1e-30);
        assert_eq!(rounded(&[1.0, unit / 2.0, little]), 1.0 + f32::EPSILON);
        assert_eq!(rounded(&[1.0, unit / 2.0]), 1.0);
        assert_eq!(rounded(&[f64::from(f32::from_bits(5))]).to_bits(), 5);
        assert_eq!(rounded(&[f64::from(f32::MAX), 1e32]), f32::INFINITY);
        assert_eq!(rounded(&[-1e-60]).to_bits(), (-0.0f32).to_bits());
    }

    #[test]
    fn carries_are_passed_on_in_time() {
        let mut sum = sum(&[-3.0; 1000]);
        sum.added = BEFORE_CARRIES - 1;
        sum.add(5e20);
        assert_eq!(sum.added, 0);
        assert_eq!(f64::from_bits(sum.round(F64)), 5e20 - 3000.0);
    }
}
