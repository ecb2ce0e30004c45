//! The order in which blocks that are sent arrive, where a rank is a neighbour several times.
//!
//! The standard says it (MPI 5.0 §8.6): in a graph the first block that goes from one rank to
//! another arrives as the first one, and so on; in a grid what is sent to the rank before arrives
//! from the rank after, also where both are the same rank. Not all libraries keep to it, so that
//! [`slots`] says what to do about it.

use ranks_comm::Neighborhood;

/// A block on its way between neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The number of the block on this rank.
    pub(crate) index: usize,
    /// Its elements.
    pub(crate) length: usize,
}

/// The blocks that go out, in the order of blocks; `length` is that of each.
#[inline(always)]
pub(crate) fn outgoing(
    around: &dyn Neighborhood,
    length: impl Fn(usize) -> usize,
) -> impl Iterator<Item = Edge> {
    let from = around.rank();
    let neighbors = around.out_neighbors().iter().enumerate();
    neighbors.filter_map(move |(index, &to)| {
        Some(Edge {
            from,
            to: to?,
            index,
            length: length(index),
        })
    })
}

/// The blocks that come in, so that those from one rank are in the order in which that sends them;
/// `length` is that of each.
#[inline(always)]
pub(crate) fn incoming(
    around: &dyn Neighborhood,
    length: impl Fn(usize) -> usize,
) -> impl Iterator<Item = Edge> {
    let to = around.rank();
    let neighbors = around.in_neighbors();
    (0..neighbors.len()).filter_map(move |place| {
        let index = around.order_of_arrival(place);
        Some(Edge {
            from: neighbors.get(index).copied()??,
            to,
            index,
            length: length(index),
        })
    })
}

/// In what order a library lets the blocks of one rank arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// That of the standard.
    Standard,
    /// The first that is sent as the first, in a grid as well.
    FirstIsFirst,
    /// The first that is sent as the last.
    FirstIsLast,
}

/// The block that each of a library's blocks has to be, so that they come where the standard has
/// them, if the library has that `order`, not the standard's; `None` if each is what it should be.
pub(crate) fn slots(around: &dyn Neighborhood, order: Order) -> Option<Vec<usize>> {
    slots_of(
        around.in_neighbors(),
        |place| around.order_of_arrival(place),
        order,
    )
}

fn slots_of(
    neighbors: &[Option<usize>],
    arrival: impl Fn(usize) -> usize,
    order: Order,
) -> Option<Vec<usize>> {
    let by_source = |indices: &mut dyn Iterator<Item = usize>| {
        let sources = indices.filter_map(|index| Some((neighbors.get(index).copied()??, index)));
        let mut sources: Vec<(usize, usize)> = sources.collect();
        // A stable sort: those of one rank stay in order.
        sources.sort_by_key(|&(source, _)| source);
        sources
    };
    let there = by_source(&mut (0..neighbors.len()));
    if there.windows(2).all(|pair| pair[0].0 != pair[1].0) {
        return None;
    }
    let mut sent = by_source(&mut (0..neighbors.len()).map(arrival));
    if order == Order::FirstIsLast {
        for of_one in sent.chunk_by_mut(|one, other| one.0 == other.0) {
            of_one.reverse();
        }
    }
    let mut slots: Vec<usize> = (0..neighbors.len()).collect();
    for ((_, slot), (_, block)) in there.into_iter().zip(sent) {
        slots[slot] = block;
    }
    Some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_of_one_source_change_places() {
        let slots = |neighbors: [Option<usize>; 4], in_a_grid: bool, order| {
            slots_of(&neighbors, |place| place ^ usize::from(in_a_grid), order)
        };
        use Order::{FirstIsFirst, FirstIsLast};
        let different = [Some(1), Some(2), None, Some(3)];
        assert_eq!(slots(different, true, FirstIsFirst), None);
        let pair = [Some(2), None, Some(1), Some(1)];
        assert_eq!(slots(pair, true, FirstIsFirst), Some(vec![0, 1, 3, 2]));
        assert_eq!(slots(pair, true, FirstIsLast), Some(vec![0, 1, 2, 3]));
        assert_eq!(slots(pair, false, FirstIsFirst), Some(vec![0, 1, 2, 3]));
        assert_eq!(slots(pair, false, FirstIsLast), Some(vec![0, 1, 3, 2]));
        let oneself = [Some(0); 4];
        assert_eq!(slots(oneself, true, FirstIsFirst), Some(vec![1, 0, 3, 2]));
        assert_eq!(slots(oneself, true, FirstIsLast), Some(vec![2, 3, 0, 1]));
    }
}
