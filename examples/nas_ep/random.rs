//! The pseudo-random numbers of the NAS Parallel Benchmarks: `x ← a·x mod 2⁴⁶`, in exact integers.

/// The multiplier of the sequence, 5¹³.
const A: u64 = 1_220_703_125;
/// Where the sequence starts.
const SEED: u64 = 271_828_183;
const MODULUS_BITS: u32 = 46;
const MASK: u64 = (1 << MODULUS_BITS) - 1;

/// A place in the sequence.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// The sequence after its first `steps` numbers, found in log₂ `steps` multiplications.
    ///
    /// This is what lets ranks work apart: each jumps to its own part of one and the same sequence.
    #[must_use]
    pub(crate) fn starting_at(steps: u64) -> Random {
        Random {
            state: multiply(SEED, power(A, steps)),
        }
    }

    /// The next number, uniform in (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        /// 2⁻⁴⁶, a power of two: the product below is exact.
        const UNIT: f64 = 1.0 / (1_u64 << MODULUS_BITS) as f64;
        self.state = multiply(A, self.state);
        self.state as f64 * UNIT
    }
}

/// `a·b mod 2⁴⁶`. Wrapping at 2⁶⁴ loses nothing: 2⁴⁶ divides 2⁶⁴.
fn multiply(a: u64, b: u64) -> u64 {
    a.wrapping_mul(b) & MASK
}

/// `base^exponent mod 2⁴⁶` by squaring.
fn power(mut base: u64, mut exponent: u64) -> u64 {
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
    use super::Random;

    #[test]
    fn a_jump_lands_where_walking_does() {
        let mut walked = Random::starting_at(0);
        for _ in 0..1000 {
            walked.uniform();
        }
        assert_eq!(walked.state, Random::starting_at(1000).state);
    }

    #[test]
    fn the_first_number_is_a_times_the_seed() {
        let expected = (1_220_703_125_u128 * 271_828_183 % (1 << 46)) as f64 / (1_u64 << 46) as f64;
        assert_eq!(Random::starting_at(0).uniform(), expected);
    }
}
