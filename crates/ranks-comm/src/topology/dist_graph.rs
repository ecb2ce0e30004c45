//! Distributed graph topologies, in which each rank knows its own edges.

use std::ops::Deref;

use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::topology::sealed::{Neighbors, Sealed};
use crate::topology::{Neighborhood, VirtualTopology};
use crate::transport::join::Join;
use crate::transport::shape::{Edges, Named};

/// A communicator with a distributed graph topology: every rank knows its incoming and outgoing
/// edges.
///
/// It derefs to [`Communicator`]. Edges have weights, which tell a library how much traffic they
/// carry, or none.
///
/// MPI 5.0 §8.5.4.
#[derive(Debug, Clone)]
pub struct DistGraph {
    comm: Communicator,
    edges: Edges,
    neighbors: Neighbors,
}

impl Communicator {
    /// Makes a communicator of the same ranks with the graph of all edges that they name; a rank
    /// may name any edge. Collective.
    ///
    /// The first `degrees[0]` of `destinations` are the destinations of edges from `sources[0]`,
    /// and so on. `weights` has one weight for each destination; `None` on every rank
    /// (`MPI_UNWEIGHTED`) or on none. With `reorder`, the same on all, the library may renumber the
    /// ranks.
    ///
    /// # Errors
    /// On all ranks if one of them has an error: [`ErrorKind::Length`] if lengths do not fit each
    /// other; [`ErrorKind::Rank`] if a rank is not in this communicator; [`ErrorKind::Argument`] if
    /// a weight is no `int`, some ranks have weights and others not, or they differ in `reorder`;
    /// what the library reports.
    ///
    /// MPI 5.0 §8.5.4 (`MPI_Dist_graph_create`).
    #[doc(alias = "MPI_Dist_graph_create")]
    #[doc(alias = "MPI_UNWEIGHTED")]
    #[doc(alias = "MPI_WEIGHTS_EMPTY")]
    pub fn dist_graph_create(
        &self,
        sources: &[usize],
        degrees: &[usize],
        destinations: &[usize],
        weights: Option<&[u32]>,
        reorder: bool,
    ) -> Result<DistGraph> {
        const OPERATION: &str = "MPI_Dist_graph_create";
        let named = Named {
            sources,
            degrees,
            destinations,
            weights,
        };
        let checked = named.check(OPERATION, self.size());
        let comm = self.dispatch_agreed(
            OPERATION,
            || self.agree_on_edges(OPERATION, checked, weights.is_some(), reorder),
            |comm, ()| comm.dist_graph_create(self, &named, reorder),
            |comm, ()| Ok(comm.dist_graph_create(&named)?.map(Self::in_process)),
        )?;
        DistGraph::of(OPERATION, comm)
    }

    /// Makes a communicator of the same ranks with a graph of which each rank names its own edges.
    /// Collective.
    ///
    /// An edge is named at both of its ends, equally often. Weights are one for each rank named,
    /// `None` everywhere (`MPI_UNWEIGHTED`) or nowhere. With `reorder`, the same on all, the
    /// library may renumber the ranks.
    ///
    /// # Errors
    /// On all ranks if one of them has an error: [`ErrorKind::Length`] if lengths do not fit each
    /// other; [`ErrorKind::Rank`] if a rank is not in this communicator; [`ErrorKind::Argument`] if
    /// an edge is named at one of its ends only, a weight is no `int`, there are weights in some
    /// places and not in others, or ranks differ in `reorder`; what the library reports.
    ///
    /// MPI 5.0 §8.5.4 (`MPI_Dist_graph_create_adjacent`).
    #[doc(alias = "MPI_Dist_graph_create_adjacent")]
    #[doc(alias = "MPI_UNWEIGHTED")]
    #[doc(alias = "MPI_WEIGHTS_EMPTY")]
    pub fn dist_graph_create_adjacent(
        &self,
        sources: &[usize],
        source_weights: Option<&[u32]>,
        destinations: &[usize],
        destination_weights: Option<&[u32]>,
        reorder: bool,
    ) -> Result<DistGraph> {
        const OPERATION: &str = "MPI_Dist_graph_create_adjacent";
        let edges = Edges {
            sources: sources.to_vec(),
            source_weights: source_weights.map(<[_]>::to_vec),
            destinations: destinations.to_vec(),
            destination_weights: destination_weights.map(<[_]>::to_vec),
        };
        let checked = edges.check(OPERATION, self.size());
        let comm = self.dispatch_agreed(
            OPERATION,
            || {
                self.agree_on_edges(OPERATION, checked, edges.is_weighted(), reorder)?;
                self.agree_on_ends(OPERATION, &edges)
            },
            |comm, ()| comm.dist_graph_create_adjacent(self, &edges, reorder),
            |comm, ()| {
                let graph = comm.dist_graph_create_adjacent(&edges)?;
                Ok(graph.map(Self::in_process))
            },
        )?;
        DistGraph::of(OPERATION, comm)
    }

    /// Returns an error on all ranks unless every edge is named at both of its ends.
    fn agree_on_ends(&self, operation: &'static str, edges: &Edges) -> Result<()> {
        // Every edge is added at its source and subtracted at its destination.
        let imbalance = edges.imbalance(self.rank());
        let [imbalance, _] = self.join(operation, None, [imbalance, 0], Join::Sum)?;
        if imbalance == 0 {
            return Ok(());
        }
        let why = "an edge is named at one of its ends only; its source must name it among its \
                   destinations, and its destination among its sources";
        Err(Error::new(ErrorKind::Argument, operation, why))
    }

    /// Returns the same error everywhere for arguments that every rank has checked for itself.
    fn agree_on_edges(
        &self,
        operation: &'static str,
        checked: Result<()>,
        weighted: bool,
        reorder: bool,
    ) -> Result<()> {
        let word = [checked.is_ok(), weighted, !weighted, reorder, !reorder]
            .iter()
            .fold(0, |word, &bit| word << 1 | u64::from(bit));
        let [all, _] = self.join(operation, None, [word, 0], Join::And)?;
        checked?;
        let detail = if all & 0b10000 == 0 {
            "another rank's arguments cannot be used"
        } else if all & 0b01100 == 0 {
            "some ranks pass weights and others do not; pass Some(&[]) where there are no edges"
        } else if all & 0b00011 == 0 {
            "ranks differ in whether they may be reordered"
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Argument, operation, detail))
    }
}

impl DistGraph {
    pub(crate) fn new(comm: Communicator, edges: Edges) -> Self {
        let ranks = |ranks: &[usize]| ranks.iter().copied().map(Some).collect();
        let neighbors = Neighbors {
            incoming: ranks(&edges.sources),
            outgoing: ranks(&edges.destinations),
            are_crossed: false,
            // Never known: each rank has its own edges alone.
            are_distinct: false,
            is_two_sided: true,
        };
        Self {
            comm,
            edges,
            neighbors,
        }
    }

    /// The new graph, with its edges in the order of the library.
    fn of(operation: &'static str, comm: Option<Communicator>) -> Result<Self> {
        if let Some(comm) = comm
            && let Some(VirtualTopology::DistGraph(graph)) = comm.topo_test()?
        {
            return Ok(graph);
        }
        let why = "the library made no communicator with a graph";
        Err(Error::new(ErrorKind::Library, operation, why))
    }

    /// The sources of the edges to this rank.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Dist_graph_neighbors`, `MPI_Dist_graph_neighbors_count`).
    #[doc(alias = "MPI_Dist_graph_neighbors")]
    #[doc(alias = "MPI_Dist_graph_neighbors_count")]
    #[must_use]
    pub fn sources(&self) -> &[usize] {
        &self.edges.sources
    }

    /// The destinations of the edges from this rank.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Dist_graph_neighbors`, `MPI_Dist_graph_neighbors_count`).
    #[doc(alias = "MPI_Dist_graph_neighbors")]
    #[doc(alias = "MPI_Dist_graph_neighbors_count")]
    #[must_use]
    pub fn destinations(&self) -> &[usize] {
        &self.edges.destinations
    }

    /// The weights of the edges from [`sources`](Self::sources), `None` if the graph has none.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Dist_graph_neighbors`).
    #[doc(alias = "MPI_Dist_graph_neighbors")]
    #[must_use]
    pub fn source_weights(&self) -> Option<&[u32]> {
        self.edges.source_weights.as_deref()
    }

    /// The weights of the edges to [`destinations`](Self::destinations), `None` if the graph has
    /// none.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Dist_graph_neighbors`).
    #[doc(alias = "MPI_Dist_graph_neighbors")]
    #[must_use]
    pub fn destination_weights(&self) -> Option<&[u32]> {
        self.edges.destination_weights.as_deref()
    }

    /// Frees the communicator now, without deferring it. Collective over its ranks.
    ///
    /// # Errors
    /// As [`Communicator::free`].
    pub fn free(self) -> Result<()> {
        self.comm.free()
    }
}

impl Deref for DistGraph {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        &self.comm
    }
}

impl Sealed for DistGraph {
    #[inline]
    fn around(&self) -> &Neighbors {
        &self.neighbors
    }
}

/// Sources and destinations, in the order of the library.
impl Neighborhood for DistGraph {}
