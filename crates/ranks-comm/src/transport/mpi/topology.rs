//! The topology that the library has given to a communicator.

use std::ffi::c_int;

use ranks_mpi_sys as sys;

use super::communicator::Comm;
use super::error::check;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::shape::{Adjacency, Edges, Grid, Shape};

impl Comm {
    /// The library's number for the kind of topology of this communicator.
    pub(crate) fn topology_kind(&self) -> Result<c_int> {
        let mut kind = sys::MPI_UNDEFINED;
        // SAFETY: the communicator is alive, and the kind is ours.
        let code = unsafe { sys::MPI_Topo_test(self.canonical, &raw mut kind) };
        check(code, "MPI_Topo_test").map(|()| kind)
    }

    /// The topology of this communicator, in which this process is `rank` of `size`.
    pub(crate) fn shape(&self, rank: usize, size: usize) -> Result<Option<Shape>> {
        match self.topology_kind()? {
            sys::MPI_CART => self.grid(rank, size).map(Shape::Cartesian).map(Some),
            sys::MPI_GRAPH => self.adjacency(size).map(Shape::Graph).map(Some),
            sys::MPI_DIST_GRAPH => self.edges(size).map(Shape::DistGraph).map(Some),
            _ => Ok(None),
        }
    }

    fn grid(&self, rank: usize, size: usize) -> Result<Grid> {
        const OPERATION: &str = "MPI_Cart_get";
        let mut count: c_int = 0;
        // SAFETY: the communicator is alive, and the number is ours.
        let code = unsafe { sys::MPI_Cartdim_get(self.canonical, &raw mut count) };
        check(code, "MPI_Cartdim_get")?;
        let mut dims = room(count);
        let (mut periods, mut coords) = (dims.clone(), dims.clone());
        // SAFETY: the communicator is alive; the three lists have `count` places each.
        let code = unsafe {
            sys::MPI_Cart_get(
                self.canonical,
                count,
                dims.as_mut_ptr(),
                periods.as_mut_ptr(),
                coords.as_mut_ptr(),
            )
        };
        check(code, OPERATION)?;
        let dims = naturals(OPERATION, &dims)?;
        let coords = naturals(OPERATION, &coords)?;
        let periods: Vec<bool> = periods.iter().map(|&periodic| periodic != 0).collect();
        let grid = Grid::new(OPERATION, &dims, &periods, size)?;
        if grid.size() == size && grid.coords(rank) == coords {
            Ok(grid)
        } else {
            Err(unexpected(OPERATION))
        }
    }

    fn adjacency(&self, size: usize) -> Result<Adjacency> {
        const OPERATION: &str = "MPI_Graph_get";
        let (mut nodes, mut edges): (c_int, c_int) = (0, 0);
        // SAFETY: the communicator is alive, and the numbers are ours.
        let code =
            unsafe { sys::MPI_Graphdims_get(self.canonical, &raw mut nodes, &raw mut edges) };
        check(code, "MPI_Graphdims_get")?;
        let (mut index, mut list) = (room(nodes), room(edges));
        // SAFETY: the communicator is alive; the lists have as many places as is said.
        let code = unsafe {
            sys::MPI_Graph_get(
                self.canonical,
                nodes,
                edges,
                index.as_mut_ptr(),
                list.as_mut_ptr(),
            )
        };
        check(code, OPERATION)?;
        let (index, list) = (naturals(OPERATION, &index)?, naturals(OPERATION, &list)?);
        if index.len() != size {
            return Err(unexpected(OPERATION));
        }
        Adjacency::new(OPERATION, &index, &list, size)
    }

    fn edges(&self, size: usize) -> Result<Edges> {
        const OPERATION: &str = "MPI_Dist_graph_neighbors";
        let (mut from, mut to, mut weighted): (c_int, c_int, c_int) = (0, 0, 0);
        // SAFETY: the communicator is alive, and the numbers are ours.
        let code = unsafe {
            sys::MPI_Dist_graph_neighbors_count(
                self.canonical,
                &raw mut from,
                &raw mut to,
                &raw mut weighted,
            )
        };
        check(code, "MPI_Dist_graph_neighbors_count")?;
        let (mut sources, mut destinations) = (room(from), room(to));
        let (mut source_weights, mut destination_weights) = (room(from), room(to));
        // SAFETY: the communicator is alive; the lists have as many places as is said, each with
        // its weights, which a graph without weights leaves as they are.
        let code = unsafe {
            sys::MPI_Dist_graph_neighbors(
                self.canonical,
                from,
                sources.as_mut_ptr(),
                source_weights.as_mut_ptr(),
                to,
                destinations.as_mut_ptr(),
                destination_weights.as_mut_ptr(),
            )
        };
        check(code, OPERATION)?;
        let weights = |weights: &[c_int]| match weighted {
            0 => Ok(None),
            _ => naturals(OPERATION, weights).map(Some),
        };
        let edges = Edges {
            sources: naturals(OPERATION, &sources)?,
            source_weights: weights(&source_weights)?,
            destinations: naturals(OPERATION, &destinations)?,
            destination_weights: weights(&destination_weights)?,
        };
        edges.check(OPERATION, size)?;
        Ok(edges)
    }
}

/// Places for `count` numbers.
fn room(count: c_int) -> Vec<c_int> {
    vec![0; usize::try_from(count).unwrap_or(0)]
}

/// Converts to `int`s: all of them are checked to be at most the size of a communicator or the
/// length of a list of edges.
pub(crate) fn ints(numbers: &[usize]) -> Vec<c_int> {
    let int = |&number| c_int::try_from(number).unwrap_or(c_int::MAX);
    numbers.iter().map(int).collect()
}

pub(crate) fn count(list: &[c_int]) -> c_int {
    c_int::try_from(list.len()).unwrap_or(c_int::MAX)
}

fn naturals<N: TryFrom<c_int>>(operation: &'static str, numbers: &[c_int]) -> Result<Vec<N>> {
    let numbers = numbers.iter().map(|&number| N::try_from(number));
    let numbers: Result<_, _> = numbers.collect();
    numbers.map_err(|_| unexpected(operation))
}

fn unexpected(operation: &'static str) -> Error {
    Error::new(
        ErrorKind::Library,
        operation,
        "the library answers with a topology that does not fit the communicator",
    )
}
