//! The table on real libraries: what is converted comes out in the standard's terms on each of
//! them.
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "what a function of the caller fills in is one thing"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod attributes;
mod callbacks;
mod datatypes;
mod errors;
mod graphs;
mod handles;
mod large;
mod requests;

use ranks_comm::Communicator;
use ranks_mpi_sys::*;

/// A private duplicate of the world, freed at the end.
struct Comm(MPI_Comm);

impl Comm {
    fn new() -> Self {
        let mut comm = MPI_COMM_NULL;
        // SAFETY: the communicators are live; a place for the answer.
        ok(unsafe { MPI_Comm_dup(MPI_COMM_WORLD, &raw mut comm) });
        Comm(comm)
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        // SAFETY: made above, and freed once.
        unsafe { MPI_Comm_free(&raw mut self.0) };
    }
}

#[track_caller]
fn ok(code: i32) {
    assert_eq!(code, MPI_SUCCESS, "{:?}", missing(code));
}

/// The standard's class of a code of the library.
fn class(code: i32) -> i32 {
    let mut class = 0;
    // SAFETY: places for the answer.
    ok(unsafe { MPI_Error_class(code, &raw mut class) });
    class
}

/// Rank and size as C numbers, and the neighbours in a ring.
fn ring(world: &Communicator) -> (i32, i32, i32, i32) {
    let (rank, size) = (
        i32::try_from(world.rank()).unwrap(),
        i32::try_from(world.size()).unwrap(),
    );
    (rank, size, (rank + 1) % size, (rank + size - 1) % size)
}
