//! Graph topologies that all ranks know in full.

use std::ffi::c_int;

use ranks_mpi_sys as sys;

use super::cartesian::place;
use crate::communicator::Communicator;
use crate::result::Result;
use crate::transport::mpi::communicator::Comm;
use crate::transport::mpi::error::check;
use crate::transport::mpi::topology::{count, ints};
use crate::transport::shape::Adjacency;

impl Comm {
    pub(crate) fn graph_create(
        &self,
        parent: &Communicator,
        graph: &Adjacency,
        reorder: bool,
    ) -> Result<Option<Communicator>> {
        let (index, edges) = (ints(&graph.index), ints(&graph.edges));
        self.make(parent, "MPI_Graph_create", &mut |new| {
            // SAFETY: the communicator is alive; the index is of this length and ends with that of
            // the edges, as `Adjacency` says; the new handle is ours.
            unsafe {
                sys::MPI_Graph_create(
                    self.canonical,
                    count(&index),
                    index.as_ptr(),
                    edges.as_ptr(),
                    c_int::from(reorder),
                    new,
                )
            }
        })
    }

    pub(crate) fn graph_map(&self, graph: &Adjacency) -> Result<Option<usize>> {
        // Open MPI and Intel MPI refuse a graph without nodes.
        if graph.nodes() == 0 {
            return Ok(None);
        }
        let (index, edges) = (ints(&graph.index), ints(&graph.edges));
        let mut rank = sys::MPI_UNDEFINED;
        // SAFETY: the communicator is alive; the index is of this length and ends with that of the
        // edges, as `Adjacency` says; the rank is ours.
        let code = unsafe {
            sys::MPI_Graph_map(
                self.canonical,
                count(&index),
                index.as_ptr(),
                edges.as_ptr(),
                &raw mut rank,
            )
        };
        check(code, "MPI_Graph_map")?;
        Ok(place(rank, graph.nodes()))
    }
}
