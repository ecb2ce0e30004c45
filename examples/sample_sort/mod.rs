//! Sample sort: each rank learns from a sample of all keys which of its own belong to whom.

use ranks::prelude::*;

use crate::report::{Report, timed};
use crate::sorted::is_sorted;

/// The number of its keys that each rank shows to the others: the more, the more even are the
/// shares in the end.
const SAMPLES: usize = 256;

/// Sorts the keys of all ranks: afterwards each rank's are in order, and none is larger than one of
/// a later rank.
///
/// # Errors
/// Errors of the communication.
pub fn sample_sort<T: Pod + Ord>(world: &Communicator, mut keys: Vec<T>) -> Result<Vec<T>> {
    keys.sort_unstable();
    let step = keys.len() / SAMPLES + 1;
    let sample: Vec<T> = keys.iter().step_by(step).copied().collect();
    let mut samples = world.allgatherv(&sample)?;
    samples.sort_unstable();
    let first = |rank| samples.get(rank * samples.len() / world.size());
    let start = |rank| keys.partition_point(|key| first(rank).is_none_or(|first| key < first));
    let starts: Vec<usize> = (0..=world.size()).map(start).collect();
    let blocks = Blocks::from_cuts(&starts)?;
    let mut sorted = world.alltoallv(&keys, &blocks)?.into_vec();
    sorted.sort(); // what came from each rank is in order already, and this sort looks for that
    Ok(sorted)
}

/// Makes `total` keys, the same on any number of ranks, sorts them, and looks whether they are in
/// order and all there.
///
/// # Errors
/// Errors of the communication.
pub fn benchmark(world: &Communicator, total: usize) -> Result<Report> {
    let mine = Blocks::even(total, world.size()).range(world.rank());
    let keys: Vec<u64> = mine.map(|place| mixed(place as u64)).collect();
    let before = Contents::of(world, &keys)?;
    let (sorted, seconds) = timed(world, || sample_sort(world, keys))?;
    let after = Contents::of(world, &sorted)?;

    let verified = is_sorted(world, &sorted)? && after == before && after.keys == total as u64;
    let largest = world.allreduce_one(sorted.len(), Max)?;
    let title = format!("sample sort of {total} keys of 64 bits");
    let report = Report::new(title, format!("keys={total}"), verified, seconds)
        .with("contents", format_args!("{:016x}", after.hash))
        .with("order", format_args!("{:016x}", order(world, &sorted)?))
        .with("largest", format_args!("{largest} keys on one rank"))
        .with(
            "rate",
            format_args!("{:.3e} keys/s", total as f64 / seconds),
        );
    Ok(report)
}

/// A digest of the keys of all ranks, wherever they are.
#[derive(Debug, PartialEq)]
struct Contents {
    keys: u64,
    /// A sum, to which each key gives as much in any place.
    hash: u64,
}

impl Contents {
    fn of(world: &Communicator, keys: &[u64]) -> Result<Contents> {
        let hash = keys
            .iter()
            .fold(0, |sum: u64, &key| sum.wrapping_add(mixed(key)));
        let mut sums = [keys.len() as u64, hash];
        world.allreduce_in_place(&mut sums, Sum)?; // integers wrap
        let [keys, hash] = sums;
        Ok(Contents { keys, hash })
    }
}

/// A sum to which each key gives according to its place among all.
fn order(world: &Communicator, sorted: &[u64]) -> Result<u64> {
    let mut before = [0];
    world.exscan(&[sorted.len() as u64], &mut before, Sum)?;
    let places = before[0]..;
    let given = places
        .zip(sorted)
        .map(|(place, key)| key.wrapping_mul(2 * place + 1));
    world.allreduce_one(given.fold(0, u64::wrapping_add), Sum)
}

/// The bits of `value` well mixed, and no two values alike (the output function of SplitMix64).
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
