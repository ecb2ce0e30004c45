//! Comparison of what ranks send to each other with what those expect, by sums of digests: what
//! ranks tell does not grow with their number.

use ranks_comm::backend::{Join, digest};
use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_launch::Count;

use crate::arguments::neighbors::Edge;

/// One end of an edge.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    from: u64,
    to: u64,
    /// Its number among those between the same ranks.
    lane: u64,
    is_beginning: bool,
    /// Elements.
    length: u64,
}

impl End {
    /// Each edge is added at its beginning and taken away at its end.
    fn add_to(&self, sum: u64) -> u64 {
        let edge = digest([self.from, self.to, self.lane, self.length]);
        if self.is_beginning {
            sum.wrapping_add(edge)
        } else {
            sum.wrapping_sub(edge)
        }
    }
}

/// The relation of the ranks.
#[derive(Clone, Copy)]
pub(super) enum Of {
    Neighbors,
    All,
}

/// Compares the ends of edges that all ranks have. Collective.
///
/// # Errors
/// [`ErrorKind::Mismatch`], the same on every rank, if one sends to another what that does not
/// expect: the first such edge, in the order of who sends, who receives, and edges between them.
pub(super) fn compare(
    comm: &Communicator,
    operation: &'static str,
    of: Of,
    ends: impl Iterator<Item = End> + Clone,
) -> Result<()> {
    let join = |words: &[u64]| comm.join_within(operation, words, Join::Sum);
    let sum = ends.clone().fold(0, |sum, end| end.add_to(sum));
    // All ranks have the same sum, so that all go on.
    if join(&[sum])? == [0] {
        return Ok(());
    }
    let text = first_difference(operation, of, ends.collect(), &join)?;
    let text = format!("collective calls are mismatched: {text}");
    let error = Error::new(ErrorKind::Mismatch, operation, text);
    Err(comm.mismatched(error))
}

/// The ends of edges with neighbours, numbered among those between the same ranks.
pub(super) fn of_neighbors(out: &[Edge], into: &[Edge]) -> Vec<End> {
    let mut ends = numbered(out, true);
    ends.extend(numbered(into, false));
    ends
}

fn numbered(edges: &[Edge], is_beginning: bool) -> Vec<End> {
    let mut ends: Vec<End> = edges
        .iter()
        .map(|edge| End {
            from: edge.from as u64,
            to: edge.to as u64,
            lane: 0,
            is_beginning,
            length: edge.length as u64,
        })
        .collect();
    // A stable sort: those between the same ranks stay in order.
    ends.sort_by_key(|end| (end.from, end.to));
    for index in 1..ends.len() {
        let before = ends[index - 1];
        let end = &mut ends[index];
        if (before.from, before.to) == (end.from, end.to) {
            end.lane = before.lane + 1;
        }
    }
    ends
}

/// The ends of the edges between `me` and every rank.
pub(super) fn of_pairs<'a>(
    me: usize,
    [out, into]: [&'a [usize]; 2],
) -> impl Iterator<Item = End> + Clone + 'a {
    let me = me as u64;
    let beginnings = out.iter().zip(0..).map(move |(&length, to)| End {
        from: me,
        to,
        lane: 0,
        is_beginning: true,
        length: length as u64,
    });
    let ends = into.iter().zip(0..).map(move |(&length, from)| End {
        from,
        to: me,
        lane: 0,
        is_beginning: false,
        length: length as u64,
    });
    beginnings.chain(ends)
}

/// Bits of a digit, digit by digit of which ranks look for an edge, and digits of a rank or of the
/// number of an edge.
const BITS: u32 = 6;
const DIGITS: u32 = 5;

/// The first edge whose ends differ, in words; `join` adds the words of all ranks.
fn first_difference(
    operation: &str,
    of: Of,
    mut ends: Vec<End>,
    join: &dyn Fn(&[u64]) -> Result<Vec<u64>>,
) -> Result<String> {
    let fields: [fn(&End) -> u64; 3] = [|end| end.from, |end| end.to, |end| end.lane];
    let mut found = [0; 3];
    for (field, found) in fields.iter().zip(&mut found) {
        for number in (0..DIGITS).rev() {
            let digit = |end: &End| field(end) >> (number * BITS) & ((1 << BITS) - 1);
            let mut sums = [0; 1 << BITS];
            for end in &ends {
                // A digit is no more than that.
                if let Some(sum) = sums.get_mut(usize::try_from(digit(end)).unwrap_or(0)) {
                    *sum = end.add_to(*sum);
                }
            }
            let sums = join(&sums)?;
            let first = sums.iter().position(|sum| *sum != 0).unwrap_or(0) as u64;
            ends.retain(|end| digit(end) == first);
            *found = *found << BITS | first;
        }
    }
    let length = |is_beginning: bool| {
        let mut ends = ends.iter();
        let end = ends.find(|end| end.is_beginning == is_beginning);
        end.map_or(0, |end| end.length)
    };
    let lengths = join(&[length(true), length(false)])?;
    let [from, to, lane] = found;
    let [sent, expected] = lengths.try_into().unwrap_or_default();
    let receiver = match of {
        Of::Neighbors => format!("its neighbour {to} as block {lane} between them"),
        Of::All => format!("rank {to}"),
    };
    Ok(format!(
        "in {operation} rank {from} sends {} to {receiver}, which expects {expected}",
        Count(sent, "element")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize, length: usize) -> Edge {
        Edge {
            from,
            to,
            index: 0,
            length,
        }
    }

    #[test]
    fn edges_between_the_same_ranks_are_numbered_in_their_order() {
        let ends = numbered(&[edge(0, 1, 7), edge(0, 2, 8), edge(0, 1, 9)], true);
        let lanes: Vec<_> = ends
            .iter()
            .map(|end| (end.to, end.lane, end.length))
            .collect();
        assert_eq!(lanes, [(1, 0, 7), (1, 1, 9), (2, 0, 8)]);
    }

    /// As one rank that has the ends of all.
    fn told(of: Of, ends: Vec<End>) -> String {
        first_difference("MPI_Alltoallv", of, ends, &|words| Ok(words.to_vec())).unwrap()
    }

    #[test]
    fn the_first_edge_that_differs_is_named() {
        let far = 1_000_000;
        let out = [edge(0, 1, 5), edge(far, 0, 4), edge(far, 0, 4)];
        let into = [
            edge(0, 1, 5),
            edge(far, 0, 4),
            edge(far, 0, 6),
            edge(far, 2, 1),
        ];
        assert_eq!(
            told(Of::Neighbors, of_neighbors(&out, &into)),
            "in MPI_Alltoallv rank 1000000 sends 4 elements to its neighbour 0 as block 1 between them, which expects 6"
        );
        // Rank 0 sends 1 and 2, expects 1 and 3; rank 1 sends 3 and 4, expects 9 and 4.
        let first = of_pairs(0, [&[1, 2], &[1, 3]]);
        let all: Vec<End> = first.chain(of_pairs(1, [&[3, 4], &[9, 4]])).collect();
        assert_eq!(all.iter().filter(|end| end.is_beginning).count(), 4);
        assert!(told(Of::All, all).ends_with("rank 0 sends 2 elements to rank 1, which expects 9"));
    }

    #[test]
    fn what_is_sent_and_expected_cancels_out() {
        let first = of_pairs(0, [&[1, 2], &[1, 3]]);
        let mut all = first.chain(of_pairs(1, [&[3, 4], &[2, 4]]));
        assert_eq!(all.clone().fold(0, |sum, end| end.add_to(sum)), 0);
        assert!(all.all(|end| end.add_to(0) != 0));
    }

    #[test]
    fn lengths_of_all_pairs_are_a_sum() {
        ranks_scale::row(
            "lengths of `alltoallv`, compared",
            (0, 64),
            |ranks| vec![3; ranks],
            |_, counts| of_pairs(1, [counts, counts]).fold(0, |sum, end| end.add_to(sum)),
        );
    }
}
