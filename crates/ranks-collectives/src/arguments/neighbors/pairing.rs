//! The order in which blocks that are sent arrive, where a rank is a neighbour several times.
//!
//! The standard says it (MPI 5.0 §8.6): in a graph the first block that goes from one rank to
//! another arrives as the first one, and so on; in a grid what is sent to the rank before arrives
//! from the rank after, also where both are the same rank. Not all libraries keep to it, so that
//! [`slots`] says what to do about it.

use ranks_comm::{Neighborhood, Result};

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

/// The blocks of these lengths that go out, in the order of blocks.
pub(crate) fn outgoing(around: &dyn Neighborhood, lengths: &[usize]) -> impl Iterator<Item = Edge> {
    let from = around.rank();
    let neighbors = around.out_neighbors().iter().zip(lengths).enumerate();
    neighbors.filter_map(move |(index, (neighbor, &length))| {
        neighbor.map(|to| Edge {
            from,
            to,
            index,
            length,
        })
    })
}

/// The blocks of these lengths that come in, so that those from one rank are in the order in which
/// that sends them.
pub(crate) fn incoming(around: &dyn Neighborhood, lengths: &[usize]) -> Vec<Edge> {
    let to = around.rank();
    let neighbors = around.in_neighbors();
    let order = around
        .order_of_arrival()
        .unwrap_or_else(|| (0..neighbors.len()).collect());
    let arriving = order.into_iter().filter_map(|index| {
        let from = neighbors.get(index).copied().flatten()?;
        let &length = lengths.get(index)?;
        Some(Edge {
            from,
            to,
            index,
            length,
        })
    });
    arriving.collect()
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
/// them; `None` if each is what it should be. The library's order is asked for only if a rank is a
/// neighbour several times.
///
/// # Errors
/// That of the question.
pub(crate) fn slots(
    around: &dyn Neighborhood,
    order: impl FnOnce() -> Result<Order>,
) -> Result<Option<Vec<usize>>> {
    slots_of(around.in_neighbors(), || around.order_of_arrival(), order)
}

fn slots_of(
    neighbors: &[Option<usize>],
    arrival: impl FnOnce() -> Option<Vec<usize>>,
    order: impl FnOnce() -> Result<Order>,
) -> Result<Option<Vec<usize>>> {
    let by_source = |indices: &mut dyn Iterator<Item = usize>| {
        let sources = indices.filter_map(|index| Some((neighbors.get(index).copied()??, index)));
        let mut sources: Vec<(usize, usize)> = sources.collect();
        // A stable sort: those of one rank stay in order.
        sources.sort_by_key(|&(source, _)| source);
        sources
    };
    let there = by_source(&mut (0..neighbors.len()));
    if there.windows(2).all(|pair| pair[0].0 != pair[1].0) {
        return Ok(None);
    }
    let order = order()?;
    if order == Order::Standard {
        return Ok(None);
    }
    let mut sent = match arrival() {
        Some(arrival) => by_source(&mut arrival.into_iter()),
        None => there.clone(),
    };
    if order == Order::FirstIsLast {
        for of_one in sent.chunk_by_mut(|one, other| one.0 == other.0) {
            of_one.reverse();
        }
    }
    let mut slots: Vec<usize> = (0..neighbors.len()).collect();
    for ((_, slot), (_, block)) in there.into_iter().zip(sent) {
        slots[slot] = block;
    }
    Ok(Some(slots))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_of_one_source_change_places() {
        let slots = |neighbors: [Option<usize>; 4], in_a_grid: bool, order| {
            let arrival = || in_a_grid.then(|| vec![1, 0, 3, 2]);
            slots_of(&neighbors, arrival, || Ok(order)).unwrap()
        };
        use Order::{FirstIsFirst, FirstIsLast, Standard};
        let different = [Some(1), Some(2), None, Some(3)];
        assert_eq!(slots(different, true, FirstIsFirst), None);
        let pair = [Some(2), None, Some(1), Some(1)];
        assert_eq!(slots(pair, true, Standard), None);
        assert_eq!(slots(pair, true, FirstIsFirst), Some(vec![0, 1, 3, 2]));
        assert_eq!(slots(pair, true, FirstIsLast), Some(vec![0, 1, 2, 3]));
        assert_eq!(slots(pair, false, FirstIsFirst), Some(vec![0, 1, 2, 3]));
        assert_eq!(slots(pair, false, FirstIsLast), Some(vec![0, 1, 3, 2]));
        let oneself = [Some(0); 4];
        assert_eq!(slots(oneself, true, FirstIsFirst), Some(vec![1, 0, 3, 2]));
        assert_eq!(slots(oneself, true, FirstIsLast), Some(vec![2, 3, 0, 1]));
    }
}
