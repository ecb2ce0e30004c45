//! Virtual topologies and neighbourhoods of communicators.

pub(crate) mod cartesian;
pub(crate) mod dims;
pub(crate) mod dist_graph;
pub(crate) mod graph;
pub(crate) mod halo_exchange;
mod mpi;

use std::ops::Deref;

use ranks_launch::Count;

use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::shape::Shape;
use cartesian::Cartesian;
use dist_graph::DistGraph;
use graph::Graph;

/// The virtual topology of a communicator, with the communicator.
///
/// MPI 5.0 §8.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum VirtualTopology {
    /// A Cartesian grid (`MPI_CART`).
    #[doc(alias = "MPI_CART")]
    Cartesian(Cartesian),
    /// A graph that every rank knows in full (`MPI_GRAPH`).
    #[doc(alias = "MPI_GRAPH")]
    Graph(Graph),
    /// A graph of which every rank knows its own edges (`MPI_DIST_GRAPH`).
    #[doc(alias = "MPI_DIST_GRAPH")]
    DistGraph(DistGraph),
}

/// A communicator whose ranks have neighbours: the argument of neighbourhood collectives.
///
/// The order of the neighbours is that of the blocks in such a collective. `None` stands for a
/// neighbour beyond the border of a grid: its block is there, but nothing is sent or received. One
/// rank may be a neighbour several times.
///
/// MPI 5.0 §8.6. The trait is implemented by [`Cartesian`], [`Graph`], [`DistGraph`] and
/// [`VirtualTopology`] and is sealed.
#[diagnostic::on_unimplemented(
    message = "the ranks of `{Self}` have no neighbours",
    label = "not a communicator with a topology",
    note = "make one by `cart_create`, `graph_create`, `dist_graph_create` or `dist_graph_create_adjacent`"
)]
pub trait Neighborhood: sealed::Sealed + Deref<Target = Communicator> {
    /// The ranks that send to this rank.
    fn in_neighbors(&self) -> &[Option<usize>];

    /// The ranks that this rank sends to.
    fn out_neighbors(&self) -> &[Option<usize>];

    /// The lane on which block `index` was sent, which distinguishes several blocks from the same
    /// rank.
    #[doc(hidden)]
    fn in_lane(&self, index: usize) -> usize {
        occurrence(self.in_neighbors(), index)
    }

    /// The lane on which block `index` is sent.
    #[doc(hidden)]
    fn out_lane(&self, index: usize) -> usize {
        occurrence(self.out_neighbors(), index)
    }

    /// The index of the block that is received as number `place`, where those of one source are in
    /// the order in which it sends them.
    #[doc(hidden)]
    fn order_of_arrival(&self, place: usize) -> usize {
        place
    }

    /// Returns `true` if it is known that no rank has a neighbour several times: the same on all
    /// ranks.
    #[doc(hidden)]
    fn are_distinct(&self) -> bool;

    /// Returns `true` if each edge has an end on both ranks: otherwise neighbourhood collectives
    /// are refused.
    #[doc(hidden)]
    fn is_two_sided(&self) -> bool {
        true
    }
}

/// Keeps the trait to communicators whose library has the same neighbours: the lengths of buffers
/// depend on it.
pub(crate) mod sealed {
    pub trait Sealed {}
}

/// The number of times that the neighbour at `index` occurs in the list before.
fn occurrence(neighbors: &[Option<usize>], index: usize) -> usize {
    let before = &neighbors[..index];
    before
        .iter()
        .filter(|&&rank| rank == neighbors[index])
        .count()
}

impl Communicator {
    /// The topology of this communicator, `None` if it has none. Local.
    ///
    /// A duplicate has the topology of its original.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`], [`ErrorKind::WrongThread`], or what the library reports.
    ///
    /// MPI 5.0 §8.5.5 (`MPI_Topo_test`).
    #[doc(alias = "MPI_Topo_test")]
    pub fn topo_test(&self) -> Result<Option<VirtualTopology>> {
        let shape = self.dispatch(
            "MPI_Topo_test",
            |comm| comm.shape(self.rank(), self.size()),
            |comm| Ok(comm.shape().cloned()),
        )?;
        let comm = self.clone();
        Ok(shape.map(|shape| match shape {
            Shape::Cartesian(grid) => VirtualTopology::Cartesian(Cartesian::new(comm, grid)),
            Shape::Graph(graph) => VirtualTopology::Graph(Graph::new(comm, graph)),
            Shape::DistGraph(edges) => VirtualTopology::DistGraph(DistGraph::new(comm, edges)),
        }))
    }
}

/// Checks a new communicator: it has as many ranks as the topology, where this rank is in it.
pub(crate) fn made(
    operation: &'static str,
    comm: Option<Communicator>,
    size: usize,
) -> Result<Option<Communicator>> {
    match comm {
        Some(comm) if comm.size() != size || comm.rank() >= size => Err(Error::new(
            ErrorKind::Library,
            operation,
            format_args!(
                "the library made a communicator of {} for a topology of {}",
                comm.size(),
                Count(size, "rank")
            ),
        )),
        comm => Ok(comm),
    }
}

impl Deref for VirtualTopology {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        match self {
            Self::Cartesian(grid) => grid,
            Self::Graph(graph) => graph,
            Self::DistGraph(graph) => graph,
        }
    }
}

impl VirtualTopology {
    fn neighborhood(&self) -> &dyn Neighborhood {
        match self {
            Self::Cartesian(grid) => grid,
            Self::Graph(graph) => graph,
            Self::DistGraph(graph) => graph,
        }
    }
}

impl sealed::Sealed for VirtualTopology {}

impl Neighborhood for VirtualTopology {
    fn in_neighbors(&self) -> &[Option<usize>] {
        self.neighborhood().in_neighbors()
    }

    fn out_neighbors(&self) -> &[Option<usize>] {
        self.neighborhood().out_neighbors()
    }

    fn in_lane(&self, index: usize) -> usize {
        self.neighborhood().in_lane(index)
    }

    fn out_lane(&self, index: usize) -> usize {
        self.neighborhood().out_lane(index)
    }

    fn order_of_arrival(&self, place: usize) -> usize {
        self.neighborhood().order_of_arrival(place)
    }

    fn are_distinct(&self) -> bool {
        self.neighborhood().are_distinct()
    }

    fn is_two_sided(&self) -> bool {
        self.neighborhood().is_two_sided()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_how_often_the_rank_was_there_before() {
        let neighbors = [Some(3), None, Some(3), Some(1), Some(3)];
        let lanes: Vec<usize> = (0..5).map(|index| occurrence(&neighbors, index)).collect();
        assert_eq!(lanes, [0, 0, 1, 0, 2]);
    }
}
