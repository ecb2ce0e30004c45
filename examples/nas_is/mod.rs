//! NAS IS, "integer sort": each key is told its rank, that is, how many keys of all ranks are
//! smaller.
//!
//! The keys are put into buckets, each rank gets buckets of about as many keys as the others, and
//! counts what is in them.

mod problem;
mod ranking;

use ranks::prelude::*;

use crate::nas::{Class, Random, SEED};
use crate::report::{Report, timed};
use crate::sorted::is_sorted;

use problem::Problem;
use ranking::Ranking;

const ITERATIONS: u32 = 10;

/// Ranks the keys ten times, two of them changed each time, and compares some ranks with the
/// published ones; sorts them in the end.
///
/// # Errors
/// Errors of the communication.
pub fn benchmark(world: &Communicator, class: Class) -> Result<Report> {
    let problem = Problem::of(class);
    let (total, limit) = (1 << problem.log2_keys, 1 << problem.log2_limit);
    let mut share = Share::new(world, total, limit);
    let mut probed = problem
        .probes
        .map(|probe| share.at(probe.place).map_or(0, |key| *key));
    world.allreduce_in_place(&mut probed, Sum)?; // each is on one rank, and zero on the others

    // The benchmark does one ranking more, of which no time is taken.
    let mut ranking = Ranking::default();
    ranking.update(world, &share.keys, problem.log2_limit)?;
    let (right, seconds) = timed(world, || {
        let mut right = 0;
        for iteration in 1..=ITERATIONS {
            share.change(iteration, limit);
            ranking.update(world, &share.keys, problem.log2_limit)?;
            for (probe, key) in problem.probes.iter().zip(probed) {
                right += usize::from(ranking.rank(key) == Some(probe.rank(iteration)));
            }
        }
        Ok(right)
    })?;

    let sorted = ranking.sorted();
    let in_order = is_sorted(world, &sorted)?;
    let mut counts = [right, sorted.len()];
    world.allreduce_in_place(&mut counts, Sum)?;
    let [right, found] = counts;
    let asked = ITERATIONS as usize * probed.len();
    let verified = right == asked && found == total && in_order;
    let title = format!(
        "NAS IS, class {class:?}: 2^{} keys below 2^{}, ranked {ITERATIONS} times",
        problem.log2_keys, problem.log2_limit
    );
    let rate = f64::from(ITERATIONS) * total as f64 / seconds;
    let report = Report::new(title, format!("class={class:?}"), verified, seconds)
        .with("ranks", format_args!("{right} of {asked} as published"))
        .with(
            "in order",
            format_args!("{found} keys: {}", if in_order { "yes" } else { "NO" }),
        )
        .with("rate", format_args!("{rate:.3e} keys/s"));
    Ok(report)
}

/// The keys that are one rank's before they are sorted.
#[derive(Debug)]
struct Share {
    /// The place of the first of them among all.
    start: usize,
    keys: Vec<u32>,
}

impl Share {
    /// This rank's share of `total` keys below `limit`, each the mean of four random numbers.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 < sum of four numbers < 4"
    )]
    fn new(world: &Communicator, total: usize, limit: u32) -> Share {
        let places = Blocks::even(total, world.size()).range(world.rank());
        let mut random = Random::after(SEED, 4 * places.start);
        let key = |_| {
            let sum: f64 = (0..4).map(|_| random.uniform()).sum();
            (f64::from(limit / 4) * sum) as u32
        };
        Share {
            start: places.start,
            keys: places.map(key).collect(),
        }
    }

    /// The key at a place among all, if it is here.
    fn at(&mut self, place: usize) -> Option<&mut u32> {
        self.keys.get_mut(place.checked_sub(self.start)?)
    }

    /// Puts a small and a large key in the place of two others, as the benchmark asks for before
    /// each ranking.
    fn change(&mut self, iteration: u32, limit: u32) {
        let (small, large) = (iteration, iteration + ITERATIONS);
        for (place, key) in [(small, iteration), (large, limit - iteration)] {
            if let Some(at) = self.at(place as usize) {
                *at = key;
            }
        }
    }
}
