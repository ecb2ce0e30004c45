//! Comparison of what ranks send to their neighbours with what those expect.

use ranks_comm::backend::digest;
use ranks_comm::{Communicator, Error, ErrorKind, Result};

use crate::arguments::neighbors::Edge;

/// Words that a rank tells of an end of an edge: that there is one, where the edge begins and ends,
/// its number among those between the same ranks, whether this is its beginning, and how many
/// elements.
const WORDS: usize = 6;

/// One end of an edge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    from: u64,
    to: u64,
    lane: u64,
    is_beginning: bool,
    length: u64,
}

/// Compares the edges of all ranks. Collective.
///
/// # Errors
/// [`ErrorKind::Mismatch`], the same on every rank, if one sends to another what that does not
/// expect.
pub(super) fn compare(
    comm: &Communicator,
    operation: &'static str,
    out: &[Edge],
    into: &[Edge],
) -> Result<()> {
    let mut ends = ends(out, true);
    ends.extend(self::ends(into, false));
    // Each edge is added at its beginning and taken away at its end.
    let sum = ends.iter().fold(0u64, |sum, end| {
        let edge = digest([end.from, end.to, end.lane, end.length]);
        if end.is_beginning {
            sum.wrapping_add(edge)
        } else {
            sum.wrapping_sub(edge)
        }
    });
    let told = told_by_all(comm, operation, &[sum, ends.len() as u64])?;
    let (sums, counts) = (told.iter().step_by(2), told.iter().skip(1).step_by(2));
    if sums.fold(0u64, |sum, part| sum.wrapping_add(*part)) == 0 {
        return Ok(());
    }
    // All ranks have the same sum, so that all go on: which edge it is takes all of them.
    let most = usize::try_from(counts.copied().max().unwrap_or(0)).unwrap_or(0);
    let mut words = Vec::with_capacity(most * WORDS);
    for end in &ends {
        let sends = u64::from(end.is_beginning);
        words.extend([1, end.from, end.to, end.lane, sends, end.length]);
    }
    words.resize(most * WORDS, 0);
    let told = told_by_all(comm, operation, &words)?;
    Err(Error::with_text(
        ErrorKind::Mismatch,
        operation,
        format!(
            "ranks do not call the same collective: {}",
            first_difference(operation, &told)
        ),
    ))
}

/// Ends of edges, numbered among those between the same ranks.
fn ends(edges: &[Edge], is_beginning: bool) -> Vec<End> {
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

fn told_by_all(comm: &Communicator, operation: &'static str, words: &[u64]) -> Result<Vec<u64>> {
    let mine: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let all = comm.exchange_within(operation, &mine)?;
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    Ok(all.chunks_exact(8).map(word).collect())
}

/// In words, by the lowest ranks.
fn first_difference(operation: &str, told: &[u64]) -> String {
    let mut ends: Vec<End> = told
        .chunks_exact(WORDS)
        .filter(|words| words[0] == 1)
        .map(|words| End {
            from: words[1],
            to: words[2],
            lane: words[3],
            is_beginning: words[4] == 1,
            length: words[5],
        })
        .collect();
    ends.sort_unstable();
    // The two ends of an edge stand together, the arriving one first.
    let mut rest = &ends[..];
    while let [end, after @ ..] = rest {
        let same =
            |other: &&End| (other.from, other.to, other.lane) == (end.from, end.to, end.lane);
        let lengths = match after.first().filter(same) {
            Some(other) => (other.length, end.length),
            None if end.is_beginning => (end.length, 0),
            None => (0, end.length),
        };
        if lengths.0 != lengths.1 {
            return format!(
                "in {operation} rank {} sends {} elements to its neighbour {} as block {} between them, which expects {}",
                end.from, lengths.0, end.to, end.lane, lengths.1
            );
        }
        rest = after
            .get(usize::from(after.first().is_some_and(|other| same(&other)))..)
            .unwrap_or_default();
    }
    format!("in {operation} what ranks send to their neighbours is not what those expect")
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
        let ends = ends(&[edge(0, 1, 7), edge(0, 2, 8), edge(0, 1, 9)], true);
        let lanes: Vec<_> = ends
            .iter()
            .map(|end| (end.to, end.lane, end.length))
            .collect();
        assert_eq!(lanes, [(1, 0, 7), (1, 1, 9), (2, 0, 8)]);
    }

    #[test]
    fn the_edge_that_differs_is_named() {
        let words = |is_beginning: u64, from: u64, to: u64, length: u64| {
            [1, from, to, 0, is_beginning, length]
        };
        let told = [
            words(1, 0, 1, 5),
            words(0, 1, 0, 6),
            words(0, 0, 1, 5),
            words(1, 1, 0, 4),
            [0; 6],
        ];
        let text = first_difference("MPI_Neighbor_alltoallv", &told.concat());
        assert!(
            text.contains("rank 1 sends 4 elements to its neighbour 0"),
            "{text}"
        );
        assert!(text.ends_with("which expects 6"), "{text}");
    }
}
