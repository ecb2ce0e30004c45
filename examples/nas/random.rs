//! The pseudo-random numbers of the NAS Parallel Benchmarks: `x ← a·x mod 2⁴⁶`, in exact integers.

use std::iter;

/// The multiplier of the sequence, 5¹³.
const A: u64 = 1_220_703_125;
const MODULUS_BITS: u32 = 46;
const MASK: u64 = (1 << MODULUS_BITS) - 1;

/// The seed of the sequences of IS, CG, FT and MG.
pub const SEED: u64 = 314_159_265;

/// A place in a sequence.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The sequence that starts at `seed`, after its first `steps` numbers, found in log₂ `steps`
    /// multiplications.
    ///
    /// This is what lets ranks work apart: each jumps to its own part of one and the same sequence.
    #[must_use]
    pub fn after(seed: u64, steps: usize) -> Random {
        Random {
            state: multiply(seed, power(A, steps)),
        }
    }

    /// The next number, uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.state = multiply(A, self.state);
        scaled(self.state)
    }

    /// The numbers that follow, in pairs: neither of two waits for the other to be computed.
    pub fn pairs(self) -> impl Iterator<Item = (f64, f64)> {
        const TWO_STEPS: u64 = multiply(A, A);
        let first = multiply(A, self.state);
        let mut pair = (first, multiply(A, first));
        iter::repeat_with(move || {
            let (x, y) = pair;
            pair = (multiply(TWO_STEPS, x), multiply(TWO_STEPS, y));
            (scaled(x), scaled(y))
        })
    }
}

/// A state as a number in (0, 1).
fn scaled(state: u64) -> f64 {
    /// 2⁻⁴⁶, a power of two: the product below is exact.
    const UNIT: f64 = 1.0 / (1_u64 << MODULUS_BITS) as f64;
    state as f64 * UNIT
}

/// `a·b mod 2⁴⁶`. Wrapping at 2⁶⁴ loses nothing: 2⁴⁶ divides 2⁶⁴.
const fn multiply(a: u64, b: u64) -> u64 {
    a.wrapping_mul(b) & MASK
}

/// `base^exponent mod 2⁴⁶` by squaring.
fn power(mut base: u64, mut exponent: usize) -> u64 {
    let mut product = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = multiply(product, base);
        }
        base = multiply(base, base);
        exponent >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::{Random, SEED};

    #[test]
    fn a_jump_lands_where_walking_does() {
        let mut walked = Random::after(SEED, 0);
        for _ in 0..1000 {
            walked.uniform();
        }
        assert_eq!(walked.state, Random::after(SEED, 1000).state);
    }

    #[test]
    fn pairs_are_the_numbers_two_at_a_time() {
        let mut one_by_one = Random::after(SEED, 3);
        for (x, y) in Random::after(SEED, 3).pairs().take(1000) {
            assert_eq!((x, y), (one_by_one.uniform(), one_by_one.uniform()));
        }
    }

    #[test]
    fn the_first_number_is_a_times_the_seed() {
        let expected = (1_220_703_125_u128 * 314_159_265 % (1 << 46)) as f64 / (1_u64 << 46) as f64;
        assert_eq!(Random::after(SEED, 0).uniform(), expected);
    }
}
