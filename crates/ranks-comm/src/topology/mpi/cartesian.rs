//! Cartesian topologies.

use std::ffi::c_int;

use ranks_launch::Count;
use ranks_mpi_sys as sys;

use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::mpi::communicator::Comm;
use crate::transport::mpi::error::check;
use crate::transport::mpi::topology::{count, ints};
use crate::transport::shape::Grid;

impl Comm {
    pub(crate) fn cart_create(
        &self,
        parent: &Communicator,
        grid: &Grid,
        reorder: bool,
    ) -> Result<Option<Communicator>> {
        let (dims, periods) = (ints(grid.dims()), flags(grid.periods()));
        self.make(parent, "MPI_Cart_create", &mut |new| {
            // SAFETY: the communicator is alive, both lists are of this length, and the new handle
            // is ours.
            unsafe {
                sys::MPI_Cart_create(
                    self.canonical,
                    count(&dims),
                    dims.as_ptr(),
                    periods.as_ptr(),
                    c_int::from(reorder),
                    new,
                )
            }
        })
    }

    pub(crate) fn cart_sub(
        &self,
        parent: &Communicator,
        remain: &[bool],
    ) -> Result<Option<Communicator>> {
        if !remain.contains(&true) {
            return self.cart_point(parent);
        }
        let remain = flags(remain);
        self.make(parent, "MPI_Cart_sub", &mut |new| {
            // SAFETY: the communicator is alive and of as many dimensions as the list is long; the
            // new handle is ours.
            unsafe { sys::MPI_Cart_sub(self.canonical, remain.as_ptr(), new) }
        })
    }

    /// This rank alone, in a grid without dimensions. `MPI_Cart_sub` of MPICH 3.4.3 and 4.3.2 would
    /// make one for rank 0 and none for the others.
    fn cart_point(&self, parent: &Communicator) -> Result<Option<Communicator>> {
        let none: [c_int; 0] = [];
        self.make(parent, "MPI_Cart_create", &mut |new| {
            let (count, dims, periods) = (0, none.as_ptr(), none.as_ptr());
            // SAFETY: the communicator of this process is alive as MPI is; there is nothing to be
            // read; the new handle is ours.
            unsafe { sys::MPI_Cart_create(sys::MPI_COMM_SELF, count, dims, periods, 0, new) }
        })
    }

    pub(crate) fn cart_map(&self, grid: &Grid) -> Result<Option<usize>> {
        let (dims, periods) = (ints(grid.dims()), flags(grid.periods()));
        let mut rank = sys::MPI_UNDEFINED;
        // SAFETY: the communicator is alive, both lists are of this length, and the rank is ours.
        let code = unsafe {
            sys::MPI_Cart_map(
                self.canonical,
                count(&dims),
                dims.as_ptr(),
                periods.as_ptr(),
                &raw mut rank,
            )
        };
        check(code, "MPI_Cart_map")?;
        Ok(place(rank, grid.size()))
    }
}

/// Chooses the sizes that are zero. MPI is alive: the caller has entered through a communicator.
pub(crate) fn dims_create(nnodes: usize, dims: &mut [usize]) -> Result<()> {
    const OPERATION: &str = "MPI_Dims_create";
    let mut chosen = ints(dims);
    let nodes = c_int::try_from(nnodes).unwrap_or(c_int::MAX);
    // SAFETY: the list is of this length.
    let code = unsafe { sys::MPI_Dims_create(nodes, count(&chosen), chosen.as_mut_ptr()) };
    check(code, OPERATION)?;
    let sizes = chosen.iter().map(|&dim| usize::try_from(dim).unwrap_or(0));
    if sizes.clone().try_fold(1, usize::checked_mul) != Some(nnodes) {
        let why = format_args!("the library chose {chosen:?} for {}", Count(nnodes, "rank"));
        return Err(Error::new(ErrorKind::Library, OPERATION, why));
    }
    for (dim, size) in dims.iter_mut().zip(sizes) {
        *dim = size;
    }
    Ok(())
}

/// A rank in a topology of this size. Open MPI 4.1 and 5.0 give every rank its own number, whether
/// it is in the topology or not.
pub(crate) fn place(rank: c_int, size: usize) -> Option<usize> {
    usize::try_from(rank).ok().filter(|&rank| rank < size)
}

fn flags(flags: &[bool]) -> Vec<c_int> {
    flags.iter().map(|&flag| c_int::from(flag)).collect()
}
