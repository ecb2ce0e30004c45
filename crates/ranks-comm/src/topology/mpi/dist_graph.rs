//! Distributed graph topologies, in which each rank knows its own edges.

use std::ffi::c_int;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;

use crate::communicator::Communicator;
use crate::result::Result;
use crate::transport::mpi::communicator::Comm;
use crate::transport::mpi::error::check;
use crate::transport::mpi::topology::{count, ints};
use crate::transport::shape::{Edges, Named};

impl Comm {
    pub(crate) fn dist_graph_create(
        &self,
        parent: &Communicator,
        named: &Named<'_>,
        reorder: bool,
    ) -> Result<Option<Communicator>> {
        let (sources, degrees) = (ints(named.sources), ints(named.degrees));
        let destinations = ints(named.destinations);
        let weights = Weights::new(named.weights);
        // Open MPI 4 waits for ever, now and then, if there were nonblocking collectives before.
        let version = sys::loaded().and_then(sys::Loaded::open_mpi_version);
        let waits = version.is_some_and(|[major, ..]| major == 4);
        let plain = self.plain_if(waits)?;
        let old = plain.as_ref().map_or(self.canonical, |plain| plain.0);
        self.make(parent, "MPI_Dist_graph_create", &mut |new| {
            // SAFETY: the communicator is alive; there are as many degrees as sources, they sum up
            // to the number of destinations, and of weights if there are any (`Named::check`); the
            // new handle is ours.
            unsafe {
                sys::MPI_Dist_graph_create(
                    old,
                    count(&sources),
                    sources.as_ptr(),
                    degrees.as_ptr(),
                    destinations.as_ptr(),
                    weights.pointer(),
                    sys::MPI_INFO_NULL,
                    c_int::from(reorder),
                    new,
                )
            }
        })
    }

    pub(crate) fn dist_graph_create_adjacent(
        &self,
        parent: &Communicator,
        edges: &Edges,
        reorder: bool,
    ) -> Result<Option<Communicator>> {
        let (sources, destinations) = (ints(&edges.sources), ints(&edges.destinations));
        let source_weights = Weights::new(edges.source_weights.as_deref());
        let destination_weights = Weights::new(edges.destination_weights.as_deref());
        // Open MPI 5 makes of one with a topology one that has both, and reads the one as the
        // other.
        let mixes_them = sys::loaded().is_some_and(sys::Loaded::is_openmpi);
        let mixes_them = mixes_them && self.topology_kind()? != sys::MPI_UNDEFINED;
        let plain = self.plain_if(mixes_them)?;
        let old = plain.as_ref().map_or(self.canonical, |plain| plain.0);
        self.make(parent, "MPI_Dist_graph_create_adjacent", &mut |new| {
            // SAFETY: the communicator is alive; lists are of these lengths, and so are their
            // weights if there are any (`Edges::check`); the new handle is ours.
            unsafe {
                sys::MPI_Dist_graph_create_adjacent(
                    old,
                    count(&sources),
                    sources.as_ptr(),
                    source_weights.pointer(),
                    count(&destinations),
                    destinations.as_ptr(),
                    destination_weights.pointer(),
                    sys::MPI_INFO_NULL,
                    c_int::from(reorder),
                    new,
                )
            }
        })
    }

    /// A communicator of the same ranks and nothing else, if it `is_needed`. Collective then.
    fn plain_if(&self, is_needed: bool) -> Result<Option<Plain>> {
        if !is_needed {
            return Ok(None);
        }
        let mut plain = sys::MPI_COMM_NULL;
        // SAFETY: the communicator is alive, and the new handle is ours.
        let code = unsafe { sys::MPI_Comm_split(self.canonical, 0, 0, &raw mut plain) };
        check(code, "MPI_Comm_split").map(|()| Some(Plain(plain)))
    }
}

/// A communicator that is freed when it is dropped, by all of its ranks at the same place.
struct Plain(MPI_Comm);

impl Drop for Plain {
    fn drop(&mut self) {
        // SAFETY: it was made by a call of the library and is freed once; a failure leaves nothing
        // to be done.
        unsafe { sys::MPI_Comm_free(&raw mut self.0) };
    }
}

/// Weights, none at all, or an empty list of them: MPI distinguishes the three.
struct Weights(Option<Vec<c_int>>);

impl Weights {
    /// Weights that are checked to be `int`s.
    fn new(weights: Option<&[u32]>) -> Self {
        let int = |&weight| c_int::try_from(weight).unwrap_or(c_int::MAX);
        Self(weights.map(|weights| weights.iter().map(int).collect()))
    }

    fn pointer(&self) -> *const c_int {
        match self.0.as_deref() {
            None => sys::MPI_UNWEIGHTED.cast_const(),
            Some([]) => sys::MPI_WEIGHTS_EMPTY.cast_const(),
            Some(weights) => weights.as_ptr(),
        }
    }
}
