//! Floating-point numbers of eight bits. What is too large becomes the largest finite number, as
//! CUDA's conversions do.

/// How the bits are divided up.
struct Format {
    mantissa_bits: i32,
    bias: i32,
    /// The largest finite number, and its bits.
    largest: (f32, u8),
    /// The bits of what is no number.
    nan: u8,
}

const E4M3: Format = Format {
    mantissa_bits: 3,
    bias: 7,
    largest: (448.0, 0x7e),
    nan: 0x7f,
};

const E5M2: Format = Format {
    mantissa_bits: 2,
    bias: 15,
    largest: (57344.0, 0x7b),
    nan: 0x7f,
};

pub(crate) fn e4m3_to_f32(bits: u8) -> f32 {
    E4M3.to_f32(bits)
}

pub(crate) fn e5m2_to_f32(bits: u8) -> f32 {
    if bits & 0x7f == 0x7c {
        return f32::INFINITY.copysign(if bits >= 0x80 { -1.0 } else { 1.0 });
    }
    E5M2.to_f32(bits)
}

pub(crate) fn f32_to_e4m3(value: f32) -> u8 {
    E4M3.of_f32(value)
}

pub(crate) fn f32_to_e5m2(value: f32) -> u8 {
    E5M2.of_f32(value)
}

impl Format {
    fn to_f32(&self, bits: u8) -> f32 {
        let magnitude = bits & 0x7f;
        if magnitude > self.largest.1 {
            return f32::NAN;
        }
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        let exponent = i32::from(magnitude >> self.mantissa_bits);
        let hidden = if exponent == 0 {
            0
        } else {
            1 << self.mantissa_bits
        };
        let scale = exponent.max(1) - self.bias - self.mantissa_bits;
        let value = f32::from(mantissa + hidden) * 2_f32.powi(scale);
        if bits & 0x80 == 0 { value } else { -value }
    }

    fn of_f32(&self, value: f32) -> u8 {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = value.abs();
        if magnitude.is_nan() {
            return sign | self.nan;
        }
        if magnitude >= self.largest.0 {
            return sign | self.largest.1;
        }
        // Between two powers of two numbers are equally far apart; below the least of them, as far
        // as just above it.
        let exponent = i32::try_from(magnitude.to_bits() >> 23).unwrap_or(0) - 127;
        let exponent = exponent.max(1 - self.bias);
        let step = 2_f32.powi(exponent - self.mantissa_bits);
        let steps = (magnitude / step).round_ties_even();
        // A mantissa that rounds up to the next power of two carries into the exponent by itself.
        let field = exponent + self.bias - 1;
        let bits = (f64::from(field) * f64::from(1_u32 << self.mantissa_bits)) + f64::from(steps);
        let all = 0..=self.largest.1;
        let bits = all.clone().find(|&all| f64::from(all) >= bits);
        sign | bits.unwrap_or(self.largest.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pair = (fn(u8) -> f32, fn(f32) -> u8);
    const PAIRS: [Pair; 2] = [(e4m3_to_f32, f32_to_e4m3), (e5m2_to_f32, f32_to_e5m2)];

    #[test]
    fn what_is_such_a_number_keeps_its_bits() {
        for (to, of) in PAIRS {
            for bits in 0..=u8::MAX {
                let value = to(bits);
                if value.is_finite() {
                    assert_eq!(of(value), bits, "{value}");
                }
            }
        }
    }

    #[test]
    fn what_is_none_becomes_the_nearest() {
        for (to, of) in PAIRS {
            let mut finite: Vec<f32> = (0..0x80)
                .map(to)
                .filter(|value| value.is_finite())
                .collect();
            finite.dedup();
            for pair in finite.windows(2) {
                let (low, high) = (pair[0], pair[1]);
                let middle = f32::midpoint(low, high);
                assert_eq!(to(of(middle.next_down())), low);
                assert_eq!(to(of(middle.next_up())), high);
                assert_eq!(of(middle) & 1, 0, "ties go to the even one");
                assert_eq!(to(of(-middle.next_up())), -high);
            }
        }
    }

    #[test]
    fn the_ends_are_those_of_the_formats() {
        assert_eq!(e4m3_to_f32(0x7e), 448.0);
        assert_eq!(e4m3_to_f32(0x01), 2_f32.powi(-9));
        assert_eq!(e5m2_to_f32(0x7b), 57344.0);
        assert_eq!(e5m2_to_f32(0x01), 2_f32.powi(-16));
        assert_eq!((f32_to_e4m3(1e9), f32_to_e5m2(-1e9)), (0x7e, 0xfb));
        assert!(e4m3_to_f32(f32_to_e4m3(f32::NAN)).is_nan());
        assert!(e5m2_to_f32(f32_to_e5m2(f32::NAN)).is_nan());
        assert_eq!(f32_to_e4m3(1.0), 0x38);
        assert_eq!(f32_to_e5m2(1.0), 0x3c);
    }
}
