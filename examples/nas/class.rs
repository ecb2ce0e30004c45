//! The problem sizes of the benchmarks.

use std::str::FromStr;

/// A problem size: class S takes a second at most, class A up to a minute on one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "letters")]
pub enum Class {
    S,
    W,
    A,
}

impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Class, String> {
        match text {
            "S" => Ok(Class::S),
            "W" => Ok(Class::W),
            "A" => Ok(Class::A),
            other => Err(format!("no class `{other}`: give S, W or A")),
        }
    }
}
