//! Graphs that every rank knows in full, as data.

use ranks_launch::Count;

use crate::result::{Error, ErrorKind, Result};

/// A graph as data: `index` does not decrease and ends with the number of edges, and edges lead to
/// nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Adjacency {
    pub(crate) index: Vec<usize>,
    pub(crate) edges: Vec<usize>,
}

impl Adjacency {
    /// A graph of at most `available` nodes.
    pub(crate) fn new(
        operation: &'static str,
        index: &[usize],
        edges: &[usize],
        available: usize,
    ) -> Result<Self> {
        let wrong = |kind, detail: String| Err(Error::new(kind, operation, detail));
        let nodes = index.len();
        if nodes > available {
            let detail = format!(
                "{}, but only {} in this communicator",
                Count(nodes, "node"),
                Count(available, "rank")
            );
            return wrong(ErrorKind::Argument, detail);
        }
        if let Some(node) = index.windows(2).position(|pair| pair[1] < pair[0]) {
            let detail = format!(
                "index decreases from {} at node {node} to {} at the next; it counts the neighbours of \
                 all nodes so far",
                index[node],
                index[node + 1]
            );
            return wrong(ErrorKind::Argument, detail);
        }
        let named = index.last().copied().unwrap_or(0);
        if named != edges.len() || i32::try_from(named).is_err() {
            let detail = format!(
                "index counts {}, but edges has {}",
                Count(named, "neighbour"),
                edges.len()
            );
            return wrong(ErrorKind::Length, detail);
        }
        if let Some(edge) = edges.iter().find(|&&edge| edge >= nodes) {
            let detail = format!("neighbour {edge} is none of the {}", Count(nodes, "node"));
            return wrong(ErrorKind::Rank, detail);
        }
        Ok(Self {
            index: index.to_vec(),
            edges: edges.to_vec(),
        })
    }

    pub(crate) fn nodes(&self) -> usize {
        self.index.len()
    }

    /// The neighbours of a node.
    pub(crate) fn neighbors(&self, node: usize) -> &[usize] {
        let start = node.checked_sub(1).map_or(0, |before| self.index[before]);
        &self.edges[start..self.index[node]]
    }

    pub(crate) fn is_symmetric(&self) -> bool {
        let from = |node: usize| self.neighbors(node).iter().map(move |&to| (node, to));
        let mut there: Vec<_> = (0..self.nodes()).flat_map(from).collect();
        let mut back: Vec<_> = there.iter().map(|&(from, to)| (to, from)).collect();
        there.sort_unstable();
        back.sort_unstable();
        there == back
    }

    /// Returns `true` if no node has a neighbour several times.
    pub(crate) fn are_distinct(&self) -> bool {
        (0..self.nodes()).all(|node| {
            let mut neighbors = self.neighbors(node).to_vec();
            neighbors.sort_unstable();
            neighbors.windows(2).all(|pair| pair[0] != pair[1])
        })
    }

    pub(crate) fn words(&self) -> Vec<u64> {
        let mut words = vec![self.index.len() as u64, self.edges.len() as u64];
        words.extend(self.index.iter().map(|&word| word as u64));
        words.extend(self.edges.iter().map(|&word| word as u64));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_cut_out_of_the_edges() {
        // The example of the standard: 0 - 1, 0 - 3, 2 - 3.
        let graph = Adjacency::new("a test", &[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2], 4).unwrap();
        let neighbors: Vec<&[usize]> = (0..4).map(|node| graph.neighbors(node)).collect();
        assert_eq!(neighbors, [&[1, 3][..], &[0], &[3], &[0, 2]]);
        assert!(graph.is_symmetric() && graph.are_distinct());
        let twice = Adjacency::new("a test", &[2, 3], &[1, 1, 0], 2).unwrap();
        assert!(!twice.is_symmetric() && !twice.are_distinct());
        let lonely = Adjacency::new("a test", &[0, 0], &[], 2).unwrap();
        assert_eq!(lonely.neighbors(1), [0; 0]);
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        let kind = |index: &[usize], edges: &[usize]| {
            Adjacency::new("a test", index, edges, 2)
                .unwrap_err()
                .kind()
        };
        assert_eq!(kind(&[0, 0, 0], &[]), ErrorKind::Argument);
        assert_eq!(kind(&[2, 1], &[1, 0]), ErrorKind::Argument);
        assert_eq!(kind(&[1, 2], &[1]), ErrorKind::Length);
        assert_eq!(kind(&[], &[0]), ErrorKind::Length);
        assert_eq!(kind(&[1, 2], &[1, 2]), ErrorKind::Rank);
    }
}
