//! The problem sizes of the benchmark, and the published results where we have them.

use std::fmt;
use std::str::FromStr;

use crate::tally::Tally;

/// A problem size: class S takes a second, each later one 2 to 8 times as long as the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    S,
    W,
    A,
    B,
}

/// What a run's numbers were compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Agrees,
    Differs,
    /// This program carries no published result for the class.
    NoReference,
}

impl Class {
    /// The run draws 2^m pairs of random numbers.
    #[must_use]
    pub(crate) fn log2_pairs(self) -> u32 {
        match self {
            Class::S => 24,
            Class::W => 25,
            Class::A => 28,
            Class::B => 30,
        }
    }

    /// Compares with the published sums, to a relative 10⁻⁸ as the benchmark demands, and counts.
    #[must_use]
    pub(crate) fn verify(self, found: &Tally) -> Verdict {
        const TOLERANCE: f64 = 1e-8;
        if self != Class::S {
            return Verdict::NoReference;
        }
        let published = Tally {
            sum_x: -3.247_834_652_034_74e3,
            sum_y: -6.958_407_078_382_297e3,
            counts: [
                6_140_517, 5_865_300, 1_100_361, 68_546, 1_648, 17, 0, 0, 0, 0,
            ],
        };
        let close = |a: f64, b: f64| ((a - b) / b).abs() <= TOLERANCE;
        if close(found.sum_x, published.sum_x)
            && close(found.sum_y, published.sum_y)
            && found.counts == published.counts
        {
            Verdict::Agrees
        } else {
            Verdict::Differs
        }
    }
}

impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Class, String> {
        match text {
            "S" => Ok(Class::S),
            "W" => Ok(Class::W),
            "A" => Ok(Class::A),
            "B" => Ok(Class::B),
            other => Err(format!("no class `{other}`: give S, W, A or B")),
        }
    }
}

impl Verdict {
    /// For people.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Verdict::Agrees => "verified: sums and counts agree with the published ones",
            Verdict::Differs => "NOT VERIFIED: sums or counts differ from the published ones",
            Verdict::NoReference => {
                "not verified: this program carries no published result for the class"
            }
        }
    }
}

/// For machines.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Agrees => "yes",
            Verdict::Differs => "no",
            Verdict::NoReference => "no-reference",
        })
    }
}
