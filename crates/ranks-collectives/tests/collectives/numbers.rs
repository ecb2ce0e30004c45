//! Messages of the example programs of rsmpi.

use ranks_collectives::Blocks;

/// The row of rank r in the table: the multiples of r + 1.
pub(crate) fn multiples(rank: usize, count: usize) -> Vec<u64> {
    (1..=count).map(|x| (x * (rank + 1)) as u64).collect()
}

pub(crate) fn multiplication_table(size: usize) -> Vec<u64> {
    (0..size).flat_map(|rank| multiples(rank, size)).collect()
}

pub(crate) fn powers_of_two(size: usize) -> Vec<u64> {
    (0..size).map(|rank| 2 << rank).collect()
}

/// Rank r has 0, 1, … r - 1.
pub(crate) fn staircase(size: usize) -> (Vec<usize>, Blocks) {
    let counts: Vec<usize> = (0..size).collect();
    let all = (0..size).flat_map(|rank| 0..rank).collect();
    (all, Blocks::from_counts(&counts).unwrap())
}
