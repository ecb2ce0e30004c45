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
use sealed::Neighbors;

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
    #[inline]
    fn in_neighbors(&self) -> &[Option<usize>] {
        &self.around().incoming
    }

    /// The ranks that this rank sends to.
    #[inline]
    fn out_neighbors(&self) -> &[Option<usize>] {
        &self.around().outgoing
    }

    /// The index of the block that is received as number `place`, where those of one source are in
    /// the order in which it sends them.
    #[doc(hidden)]
    #[inline]
    fn order_of_arrival(&self, place: usize) -> usize {
        place ^ usize::from(self.around().are_crossed)
    }

    /// Returns `true` if it is known that no rank has a neighbour several times: the same on all
    /// ranks.
    #[doc(hidden)]
    #[inline]
    fn are_distinct(&self) -> bool {
        self.around().are_distinct
    }

    /// Returns `true` if each edge has an end on both ranks: otherwise neighbourhood collectives
    /// are refused.
    #[doc(hidden)]
    #[inline]
    fn is_two_sided(&self) -> bool {
        self.around().is_two_sided
    }
}

/// Keeps the trait to communicators whose library has the same neighbours: the lengths of buffers
/// depend on it.
pub(crate) mod sealed {
    use std::sync::Arc;

    pub trait Sealed {
        fn around(&self) -> &Neighbors;
    }

    /// The neighbours of a rank.
    #[derive(Debug, Clone)]
    pub struct Neighbors {
        pub(crate) incoming: Arc<[Option<usize>]>,
        pub(crate) outgoing: Arc<[Option<usize>]>,
        /// `true` in a grid: a message from the rank before was sent to the rank after, which
        /// matters when they are the same rank.
        pub(crate) are_crossed: bool,
        pub(crate) are_distinct: bool,
        pub(crate) is_two_sided: bool,
    }
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
        Some(comm) if comm.size() != size || comm.rank() >= size => {
            let (has, ranks) = (comm.size(), Count(size, "rank"));
            let why =
                format_args!("the library made a communicator of {has} for a topology of {ranks}");
            Err(Error::new(ErrorKind::Library, operation, why))
        }
        comm => Ok(comm),
    }
}

impl Deref for VirtualTopology {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        self.neighborhood()
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

impl sealed::Sealed for VirtualTopology {
    fn around(&self) -> &Neighbors {
        self.neighborhood().around()
    }
}

impl Neighborhood for VirtualTopology {}
