//! The sizes of the benchmark, and the published ranks of some keys.

use crate::nas::Class;

/// A size.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) log2_keys: u32,
    /// All keys are below 2^this.
    pub(super) log2_limit: u32,
    pub(super) probes: [Probe; 5],
}

/// A key whose rank was published.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    /// The index of the key.
    pub(super) place: usize,
    start: usize,
    drift: Drift,
}

/// The change of the rank: each iteration puts a very small and a very large key in the place of
/// two others.
#[derive(Debug, Clone, Copy)]
enum Drift {
    Up,
    Down,
}
use Drift::{Down, Up};

impl Problem {
    /// The size of that letter.
    pub(super) fn of(class: Class) -> Problem {
        let probe = |(place, start, drift)| Probe {
            place,
            start,
            drift,
        };
        let (log2_keys, log2_limit, probes) = match class {
            Class::S => (
                16,
                11,
                [
                    (48_427, 0, Up),
                    (17_148, 18, Up),
                    (23_627, 346, Up),
                    (62_548, 64_917, Down),
                    (4_431, 65_463, Down),
                ],
            ),
            Class::W => (
                20,
                16,
                [
                    (357_773, 1_247, Up),
                    (934_767, 11_696, Up),
                    (875_723, 1_039_987, Down),
                    (898_999, 1_043_896, Down),
                    (404_505, 1_048_018, Down),
                ],
            ),
            Class::A => (
                23,
                19,
                [
                    (2_112_377, 103, Up),
                    (662_041, 17_522, Up),
                    (5_336_171, 123_927, Up),
                    (3_642_833, 8_288_933, Down),
                    (4_250_760, 8_388_265, Down),
                ],
            ),
        };
        Problem {
            log2_keys,
            log2_limit,
            probes: probes.map(probe),
        }
    }
}

impl Probe {
    /// The rank of the key in an iteration; the first is 1.
    pub(super) fn rank(self, iteration: u32) -> usize {
        match self.drift {
            Up => self.start + iteration as usize,
            Down => self.start - iteration as usize,
        }
    }
}
