//! Blocks between two ranks that are neighbours several times; tests of several crates use it.

/// The number of each block among those that go to, or come from, the same rank, if these are in
/// that order.
pub(crate) fn lanes(neighbors: &[Option<usize>], order: impl Fn(usize) -> usize) -> Vec<usize> {
    let mut lanes = vec![0; neighbors.len()];
    for place in 0..neighbors.len() {
        let rank = neighbors[order(place)];
        let before = (0..place).filter(|&other| neighbors[order(other)] == rank);
        lanes[order(place)] = before.count();
    }
    lanes
}
