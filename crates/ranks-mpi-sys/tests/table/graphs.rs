//! Topologies: kinds, weights, neighbours off the edge.

use std::ptr;

use ranks_comm::Communicator;
use ranks_mpi_sys::*;

use crate::{Comm, ok, ring};

fn topology(comm: MPI_Comm) -> i32 {
    let mut kind = 0;
    // SAFETY: the communicators are live; a place for the answer.
    ok(unsafe { MPI_Topo_test(comm, &raw mut kind) });
    kind
}

#[ranks_test::ranks(1, 2, 3, 4, mpi_only)]
fn off_the_edge_of_a_grid_is_proc_null(world: Communicator) {
    let (rank, size, ..) = ring(&world);
    let comm = Comm::new();
    assert_eq!(topology(comm.0), MPI_UNDEFINED);
    let mut grid = MPI_COMM_NULL;
    // SAFETY: the communicator is live; arrays are as long as the counts say, and there are places
    // for the answers.
    ok(unsafe { MPI_Cart_create(comm.0, 1, [size].as_ptr(), [0].as_ptr(), 0, &raw mut grid) });
    assert_eq!(topology(grid), MPI_CART);
    let (mut left, mut right) = (7, 7);
    // SAFETY: the communicator is live; arrays are as long as the counts say, and there are places
    // for the answers.
    ok(unsafe { MPI_Cart_shift(grid, 0, 1, &raw mut left, &raw mut right) });
    assert_eq!(left, if rank == 0 { MPI_PROC_NULL } else { rank - 1 });
    assert_eq!(
        right,
        if rank == size - 1 {
            MPI_PROC_NULL
        } else {
            rank + 1
        }
    );
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Comm_free(&raw mut grid) });
}

#[ranks_test::ranks(1, 2, 3, 4, mpi_only)]
fn a_graph_without_weights_and_one_with(world: Communicator) {
    let (rank, _, next, previous) = ring(&world);
    let comm = Comm::new();
    for weights in [None, Some([rank + 3])] {
        let weights_at = weights
            .as_ref()
            .map_or(MPI_UNWEIGHTED.cast_const(), |weights| weights.as_ptr());
        let mut graph = MPI_COMM_NULL;
        // SAFETY: the communicator is live; arrays are as long as the counts say, and there are
        // places for the answers.
        ok(unsafe {
            MPI_Dist_graph_create_adjacent(
                comm.0,
                1,
                [previous].as_ptr(),
                weights_at,
                1,
                [next].as_ptr(),
                weights_at,
                MPI_INFO_NULL,
                0,
                &raw mut graph,
            )
        });
        assert_eq!(topology(graph), MPI_DIST_GRAPH);
        let (mut sources, mut destinations, mut weighted) = (0, 0, 7);
        let places = (&raw mut sources, &raw mut destinations, &raw mut weighted);
        // SAFETY: the communicator is live; arrays are as long as the counts say, and there are
        // places for the answers.
        ok(unsafe { MPI_Dist_graph_neighbors_count(graph, places.0, places.1, places.2) });
        assert_eq!(
            (sources, destinations, weighted != 0),
            (1, 1, weights.is_some())
        );
        if weights.is_some() {
            let (mut from, mut to, mut heavy) = ([-1], [-1], [-1]);
            // SAFETY: the communicator is live; arrays are as long as the counts say, and there are
            // places for the answers.
            ok(unsafe {
                MPI_Dist_graph_neighbors(
                    graph,
                    1,
                    from.as_mut_ptr(),
                    heavy.as_mut_ptr(),
                    1,
                    to.as_mut_ptr(),
                    MPI_UNWEIGHTED,
                )
            });
            assert_eq!((from, to, heavy), ([previous], [next], [rank + 3]));
        }
        // SAFETY: made above, and freed once.
        ok(unsafe { MPI_Comm_free(&raw mut graph) });
    }
    let mut graph = MPI_COMM_NULL;
    // SAFETY: the communicator is live; arrays are as long as the counts say, and there are places
    // for the answers.
    ok(unsafe {
        MPI_Dist_graph_create(
            comm.0,
            0,
            ptr::null(),
            ptr::null(),
            ptr::null(),
            MPI_WEIGHTS_EMPTY,
            MPI_INFO_NULL,
            0,
            &raw mut graph,
        )
    });
    assert_eq!(topology(graph), MPI_DIST_GRAPH);
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Comm_free(&raw mut graph) });
}
