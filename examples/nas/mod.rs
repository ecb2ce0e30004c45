//! The common parts of the NAS Parallel Benchmarks.
//!
//! Written from their published description (Bailey et al., The NAS Parallel Benchmarks,
//! RNR-94-007) and the sizes and results published for version 3.

mod class;
mod random;

use ranks::prelude::*;

use crate::report::{Outcome, Report};

pub use class::Class;
pub use random::{Random, SEED};

/// Runs the benchmark `name` in the class that the command line asks for, S if it does not.
///
/// # Errors
/// If there is no such class; what the benchmark reports, and if its results are not the published
/// ones.
pub fn run(
    name: &str,
    benchmark: impl Fn(&Communicator, Class) -> Result<Report> + Send + Sync,
) -> Outcome<()> {
    let class = match std::env::args().nth(1) {
        Some(letter) => letter.parse()?,
        None => Class::S,
    };
    ranks::run(|world| benchmark(&world, class)?.conclude(name, &world))
}

/// Returns `true` if `found` is `published` to a relative `tolerance`.
#[must_use]
pub fn agrees(found: f64, published: f64, tolerance: f64) -> bool {
    ((found - published) / published).abs() <= tolerance
}
