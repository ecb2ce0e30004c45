//! One call straight through the table of functions, with no safe layer above it.
#![allow(unsafe_code)]

use std::ffi::c_int;

use ranks_mpi_sys::{MPI_COMM_WORLD, MPI_Comm_rank};

/// The rank, asked of the library each time.
#[inline(always)]
pub(crate) fn rank(rank: &mut c_int) {
    // SAFETY: `main` has started MPI before the first call and ends it after the last; the world
    // always exists.
    unsafe { MPI_Comm_rank(MPI_COMM_WORLD, rank) };
}
