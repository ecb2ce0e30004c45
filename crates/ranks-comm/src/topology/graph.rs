//! Graph topologies that all ranks know in full.

use std::ops::Deref;
use std::sync::Arc;

use ranks_launch::Count;

use crate::call::identity::digest;
use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::topology::sealed::{Neighbors, Sealed};
use crate::topology::{Neighborhood, made};
use crate::transport::shape::Adjacency;

/// A communicator with a graph topology, which every rank knows in full.
///
/// It derefs to [`Communicator`]. A [`DistGraph`](crate::DistGraph) needs less memory and has
/// weights.
///
/// MPI 5.0 §8.5.3.
#[derive(Debug, Clone)]
pub struct Graph {
    comm: Communicator,
    graph: Adjacency,
    neighbors: Neighbors,
}

impl Communicator {
    /// Makes a communicator with a graph topology, whose nodes are the first ranks of this one.
    /// Collective.
    ///
    /// `index[i]` is the number of neighbours of nodes 0 to `i` together; `edges` are the
    /// neighbours of node 0, then those of node 1, and so on. All ranks pass the same. A node may
    /// be a neighbour several times, and its own. With `reorder` the library may renumber the
    /// ranks. Ranks that are not nodes get `None`; all do if there are no nodes.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the graph has more nodes than this communicator ranks, `index`
    /// decreases, or ranks pass different graphs; [`ErrorKind::Length`] if `edges` is not as long
    /// as `index` says; [`ErrorKind::Rank`] if a neighbour is no node; what the library reports. If
    /// one rank is refused, the others get an error as well, as in
    /// [`cart_create`](Self::cart_create).
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
        let graph = Adjacency::new(OPERATION, index, edges, self.size());
        let digest = |graph: &Adjacency| digest([graph.words(), vec![reorder.into()]].concat());
        let (comm, graph) = self.dispatch_agreed(
            OPERATION,
            || self.agree_on(OPERATION, graph, digest),
            |comm, graph| Ok((comm.graph_create(self, &graph, reorder)?, graph)),
            |comm, graph| Ok((comm.graph_create(&graph)?.map(Self::in_process), graph)),
        )?;
        let comm = made(OPERATION, comm, graph.nodes())?;
        Ok(comm.map(|comm| Graph::new(comm, graph)))
    }

    /// The rank that the library would give to this process in such a graph, `None` if it is not a
    /// node. Collective.
    ///
    /// # Errors
    /// As [`graph_create`](Self::graph_create).
    ///
    /// MPI 5.0 §8.5.8 (`MPI_Graph_map`).
    #[doc(alias = "MPI_Graph_map")]
    pub fn graph_map(&self, index: &[usize], edges: &[usize]) -> Result<Option<usize>> {
        const OPERATION: &str = "MPI_Graph_map";
        let graph = Adjacency::new(OPERATION, index, edges, self.size());
        self.dispatch_agreed(
            OPERATION,
            || self.agree_on(OPERATION, graph, |graph| digest(graph.words())),
            |comm, graph| comm.graph_map(&graph),
            |comm, graph| Ok(Some(comm.rank()).filter(|&rank| rank < graph.nodes())),
        )
    }
}

impl Graph {
    /// A graph over `comm`, whose rank is a node.
    pub(crate) fn new(comm: Communicator, graph: Adjacency) -> Self {
        let mine = graph.neighbors(comm.rank()).iter();
        let incoming: Arc<[_]> = mine.copied().map(Some).collect();
        let neighbors = Neighbors {
            outgoing: Arc::clone(&incoming),
            incoming,
            are_crossed: false,
            are_distinct: graph.are_distinct(),
            is_two_sided: graph.is_symmetric(),
        };
        Self {
            comm,
            graph,
            neighbors,
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
        let nodes = Count(self.nodes(), "node");
        let why = format_args!("rank {rank} is not in this graph of {nodes}");
        Err(Error::new(ErrorKind::Rank, "MPI_Graph_neighbors", why))
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

impl Sealed for Graph {
    #[inline]
    fn around(&self) -> &Neighbors {
        &self.neighbors
    }
}

/// The neighbours as given, for sending as well as for receiving.
impl Neighborhood for Graph {}
