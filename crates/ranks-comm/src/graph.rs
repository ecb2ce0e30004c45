//! Graph topologies that all ranks know in full.

use std::ops::Deref;

use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::topology::{Neighborhood, made, sealed};

/// A communicator with a graph topology, which every rank knows in full.
///
/// It derefs to [`Communicator`]. A [`DistGraph`](crate::DistGraph) needs less memory and has weights.
///
/// MPI 5.0 §8.5.3.
#[derive(Debug, Clone)]
pub struct Graph {
    comm: Communicator,
    graph: Adjacency,
    neighbors: Vec<Option<usize>>,
    /// `true` if each edge has a reverse edge, equally often.
    is_symmetric: bool,
}

impl Communicator {
    /// Makes a communicator with a graph topology, whose nodes are the first ranks of this one. Collective.
    ///
    /// `index[i]` is the number of neighbours of nodes 0 to `i` together; `edges` are the neighbours of node 0, then those
    /// of node 1, and so on. All ranks pass the same. A node may be a neighbour several times, and its own. With `reorder`
    /// the library may renumber the ranks. Ranks that are not nodes get `None`; all do if there are no nodes.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the graph has more nodes than this communicator ranks, `index` decreases, or
    /// ranks pass different graphs (an error on all of them); [`ErrorKind::Length`] if `edges` is not as long as `index`
    /// says; [`ErrorKind::Rank`] if a neighbour is no node; what the library reports.
    ///
    /// MPI 5.0 §8.5.3 (`MPI_Graph_create`).
    #[doc(alias = "MPI_Graph_create")]
    pub fn graph_create(
        &self,
        index: &[usize],
        edges: &[usize],
        reorder: bool,
    ) -> Result<Option<Graph>> {
        const OPERATION: &str = "MPI_Graph_create";
        let graph = Adjacency::new(OPERATION, index, edges, self.size())?;
        self.agree_on(OPERATION, graph.words().chain([reorder.into()]))?;
        let comm = self.dispatch(
            OPERATION,
            |comm| comm.graph_create(self, &graph, reorder),
            |comm| Ok(comm.graph_create(&graph)?.map(Self::in_process)),
        )?;
        let comm = made(OPERATION, comm, graph.nodes())?;
        Ok(comm.map(|comm| Graph::new(comm, graph)))
    }

    /// The rank that the library would give to this process in such a graph, `None` if it is not a node. Collective.
    ///
    /// # Errors
    /// As [`graph_create`](Self::graph_create).
    ///
    /// MPI 5.0 §8.5.8 (`MPI_Graph_map`).
    #[doc(alias = "MPI_Graph_map")]
    pub fn graph_map(&self, index: &[usize], edges: &[usize]) -> Result<Option<usize>> {
        const OPERATION: &str = "MPI_Graph_map";
        let graph = Adjacency::new(OPERATION, index, edges, self.size())?;
        self.agree_on(OPERATION, graph.words())?;
        self.dispatch(
            OPERATION,
            |comm| comm.graph_map(&graph),
            |comm| Ok(Some(comm.rank()).filter(|&rank| rank < graph.nodes())),
        )
    }
}

impl Graph {
    /// A graph over `comm`, whose rank is a node.
    pub(crate) fn new(comm: Communicator, graph: Adjacency) -> Self {
        let neighbors = graph.neighbors(comm.rank());
        let neighbors = neighbors.iter().copied().map(Some).collect();
        let is_symmetric = graph.is_symmetric();
        Self {
            comm,
            graph,
            neighbors,
            is_symmetric,
        }
    }

    /// The number of nodes: the ranks of this communicator.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Graphdims_get`).
    #[doc(alias = "MPI_Graphdims_get")]
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.graph.nodes()
    }

    /// The number of neighbours of nodes 0 to *i* together, for each *i*.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Graph_get`).
    #[doc(alias = "MPI_Graph_get")]
    #[must_use]
    pub fn index(&self) -> &[usize] {
        &self.graph.index
    }

    /// The neighbours of node 0, then those of node 1, and so on.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Graph_get`).
    #[doc(alias = "MPI_Graph_get")]
    #[must_use]
    pub fn edges(&self) -> &[usize] {
        &self.graph.edges
    }

    /// The neighbours of `rank`, in the order in which they were given. Local.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if there is no such rank.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Graph_neighbors`, `MPI_Graph_neighbors_count`).
    #[doc(alias = "MPI_Graph_neighbors")]
    #[doc(alias = "MPI_Graph_neighbors_count")]
    pub fn neighbors(&self, rank: usize) -> Result<&[usize]> {
        if rank < self.nodes() {
            return Ok(self.graph.neighbors(rank));
        }
        Err(Error::new(
            ErrorKind::Rank,
            "MPI_Graph_neighbors",
            format_args!("rank {rank} is not in this graph of {} nodes", self.nodes()),
        ))
    }

    /// Frees the communicator now, without deferring it. Collective over its ranks.
    ///
    /// # Errors
    /// As [`Communicator::free`].
    pub fn free(self) -> Result<()> {
        self.comm.free()
    }
}

impl Deref for Graph {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        &self.comm
    }
}

impl sealed::Sealed for Graph {}

/// The neighbours as given, for sending as well as for receiving.
impl Neighborhood for Graph {
    fn in_neighbors(&self) -> &[Option<usize>] {
        &self.neighbors
    }

    fn out_neighbors(&self) -> &[Option<usize>] {
        &self.neighbors
    }

    fn is_two_sided(&self) -> bool {
        self.is_symmetric
    }
}

/// A graph as data: `index` does not decrease and ends with the number of edges, and edges lead to nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Adjacency {
    index: Vec<usize>,
    edges: Vec<usize>,
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
            let detail = format!("{nodes} nodes, but only {available} ranks in this communicator");
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
                "index counts {named} neighbours, but there are {}",
                edges.len()
            );
            return wrong(ErrorKind::Length, detail);
        }
        if let Some(edge) = edges.iter().find(|&&edge| edge >= nodes) {
            let detail = format!("neighbour {edge} is none of the {nodes} nodes");
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

    pub(crate) fn index(&self) -> &[usize] {
        &self.index
    }

    pub(crate) fn edges(&self) -> &[usize] {
        &self.edges
    }

    /// The neighbours of a node.
    fn neighbors(&self, node: usize) -> &[usize] {
        let start = node.checked_sub(1).map_or(0, |before| self.index[before]);
        &self.edges[start..self.index[node]]
    }

    fn is_symmetric(&self) -> bool {
        let from = |node: usize| self.neighbors(node).iter().map(move |&to| (node, to));
        let mut there: Vec<_> = (0..self.nodes()).flat_map(from).collect();
        let mut back: Vec<_> = there.iter().map(|&(from, to)| (to, from)).collect();
        there.sort_unstable();
        back.sort_unstable();
        there == back
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        let all = [&self.index[..], &self.edges[..]];
        let lengths = all.map(|list| list.len() as u64);
        let words = all.into_iter().flatten().map(|&word| word as u64);
        lengths.into_iter().chain(words)
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
        assert!(graph.is_symmetric());
        let twice = Adjacency::new("a test", &[2, 3], &[1, 1, 0], 2).unwrap();
        assert!(!twice.is_symmetric());
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
