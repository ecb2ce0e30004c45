//! NAS EP, "embarrassingly parallel": the ranks share out blocks of one random sequence and meet
//! once, in two `allreduce` calls at the end.

mod tally;

use ranks::prelude::*;

use crate::nas::{Class, Random, agrees};
use crate::report::{Report, timed};

use tally::Tally;

/// Pairs in a block, the unit of work.
const BLOCK: usize = 1 << 16;
/// The seed of this benchmark's sequence.
const SEED: u64 = 271_828_183;

/// The run draws 2^m pairs of random numbers.
fn log2_pairs(class: Class) -> u32 {
    match class {
        Class::S => 24,
        Class::W => 25,
        Class::A => 28,
    }
}

/// The published sums of x and of y, and the number of Gaussian pairs.
fn published(class: Class) -> (f64, f64, u64) {
    match class {
        Class::S => (
            -3.247_834_652_034_74e3,
            -6.958_407_078_382_297e3,
            13_176_389,
        ),
        Class::W => (
            -2.863_319_731_645_753e3,
            -6.320_053_679_109_499e3,
            26_354_769,
        ),
        Class::A => (
            -4.295_875_165_629_892e3,
            -1.580_732_573_678_431e4,
            210_832_767,
        ),
    }
}

/// Draws the pairs, and compares their sums with the published ones.
///
/// # Errors
/// Errors of the communication.
pub fn benchmark(world: &Communicator, class: Class) -> Result<Report> {
    const TOLERANCE: f64 = 1e-8;
    let drawn = log2_pairs(class);
    let (tally, seconds) = timed(world, || tally_all(world, (1 << drawn) / BLOCK))?;

    let (sum_x, sum_y, pairs) = published(class);
    let verified = agrees(tally.sum_x, sum_x, TOLERANCE)
        && agrees(tally.sum_y, sum_y, TOLERANCE)
        && tally.pairs() == pairs;
    let title = format!("NAS EP, class {class:?}: 2^{drawn} pairs of random numbers");
    let mut report = Report::new(title, format!("class={class:?}"), verified, seconds)
        .with("sum of x", format_args!("{:.15e}", tally.sum_x))
        .with("sum of y", format_args!("{:.15e}", tally.sum_y))
        .with("pairs", tally.pairs());
    for (ring, count) in tally.counts.iter().enumerate() {
        report = report.with(format_args!("ring {ring}"), count);
    }
    Ok(report)
}

/// Tallies `blocks` blocks of the sequence, dealt out to the ranks in turn.
///
/// The sums of each block travel rather than those of each rank, added up in the order of the
/// blocks afterwards. So every digit of the result is the same on any number of ranks.
fn tally_all(world: &Communicator, blocks: usize) -> Result<Tally> {
    let mut my_sums = vec![0.0; 2 * blocks];
    let mut my_counts = [0; 10];
    for block in (world.rank()..blocks).step_by(world.size()) {
        let random = Random::after(SEED, 2 * BLOCK * block);
        let tally = Tally::draw(random, BLOCK);
        my_sums[2 * block] = tally.sum_x;
        my_sums[2 * block + 1] = tally.sum_y;
        for (total, count) in my_counts.iter_mut().zip(tally.counts) {
            *total += count;
        }
    }

    let mut sums = vec![0.0; 2 * blocks];
    let mut counts = [0; 10];
    world.allreduce(&my_sums, &mut sums, Sum)?; // one rank's number and zeros: exact
    world.allreduce(&my_counts, &mut counts, Sum)?;
    Ok(Tally {
        sum_x: sums.iter().step_by(2).sum(),
        sum_y: sums.iter().skip(1).step_by(2).sum(),
        counts,
    })
}
