//! The topology of a communicator, and its lifetime.

use ranks_comm::{Communicator, Comparison, ErrorKind, Neighborhood, Result, VirtualTopology};

use crate::{all, dist_graphs::ahead, graphs::ring, square};

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_communicator_knows_its_topology(world: Communicator) -> Result<()> {
    assert!(world.topo_test()?.is_none());
    let grid = square(&world, [true, false])?;
    let copy = grid.dup()?;
    match copy.topo_test()? {
        Some(VirtualTopology::Cartesian(found)) => {
            assert_eq!(found.dims(), grid.dims());
            assert_eq!(found.periods(), grid.periods());
            assert_eq!(found.my_coords(), grid.my_coords());
            assert_eq!(found.in_neighbors(), grid.in_neighbors());
            assert_eq!(found.compare(&grid)?, Comparison::Congruent);
        }
        other => panic!("{other:?}"),
    }
    match grid.sub(&[true, false])?.topo_test()? {
        Some(VirtualTopology::Cartesian(found)) => assert_eq!(found.dims(), [grid.dims()[0]]),
        other => panic!("{other:?}"),
    }
    // A split has no topology.
    let part = grid.split(Some(0), 0)?.expect("every rank has a color");
    assert!(part.topo_test()?.is_none());

    let index = vec![0; world.size()];
    let graph = world.graph_create(&index, &[], false)?;
    match graph.expect("every rank is a node").topo_test()? {
        Some(VirtualTopology::Graph(found)) => assert_eq!(found.index(), index),
        other => panic!("{other:?}"),
    }
    let graph = ahead(&world, true, true)?;
    match graph.topo_test()? {
        Some(topology) => {
            assert!(matches!(topology, VirtualTopology::DistGraph(_)));
            assert_eq!(topology.in_neighbors(), graph.in_neighbors());
            assert_eq!(topology.out_neighbors(), graph.out_neighbors());
            assert_eq!(topology.compare(&graph)?, Comparison::Identical);
        }
        None => panic!("the graph is gone"),
    }
    Ok(())
}

/// Open MPI 5 took it for a grid still, and read what is none.
#[ranks_test::ranks(1, 2, 3, 4)]
fn a_graph_that_is_made_of_a_grid_is_a_graph(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let grid = square(&world, [true, false])?;
    for of in [&*grid, &grid.dup()?] {
        let graph = of.dist_graph_create_adjacent(&[left], None, &[right], None, false)?;
        assert_eq!(graph.in_neighbors(), [Some(left)]);
        assert_eq!(graph.out_neighbors(), [Some(right)]);
        match graph.topo_test()? {
            Some(VirtualTopology::DistGraph(found)) => {
                assert_eq!(found.in_neighbors(), [Some(left)]);
            }
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn dropped_topologies_are_freed_later(world: Communicator) -> Result<()> {
    // Ranks drop in different orders, and some have nothing to drop.
    let mut kept = Vec::new();
    for round in 0..40 {
        let grid = world.cart_create(&[world.size() - 1], &[true], false)?;
        if (round + world.rank()).is_multiple_of(3) {
            kept.extend(grid);
        }
        if round % 8 == 0 {
            kept.clear();
        }
        ring(&world)?;
    }
    let grid = square(&world, [true, true])?;
    let other = grid.clone();
    assert_eq!(grid.free().unwrap_err().kind(), ErrorKind::Argument);
    all(&other, 1)?;
    other.free()
}

/// The context of each separates them, as in the standard: a receive in the wrong one matches no
/// message of the other's.
#[ranks_test::ranks(2)]
fn grids_and_graphs_of_one_form_are_separated_by_their_contexts(world: Communicator) -> Result<()> {
    let (first, second) = (square(&world, [true, true])?, square(&world, [true, true])?);
    let (graph, other) = (ring(&world)?, ring(&world)?);
    let peer = 1 - world.rank();
    let pairs: [[&Communicator; 2]; 2] = [[&first, &second], [&graph, &other]];
    for [one, another] in pairs {
        let (mine, theirs) = match world.rank() {
            0 => (one, another),
            _ => (another, one),
        };
        let sent = mine.isend(vec![world.rank() as u64; 3], peer, 4)?;
        let mut request = mine.irecv(vec![9u64; 3], peer, 4)?;
        assert_eq!(theirs.recv_vec::<u64>(peer, 4)?.0, [peer as u64; 3]);
        // The message of the other has arrived.
        assert!(!request.test()?);
        all(&world, 0)?;
        theirs.send(&[7u64; 3], peer, 4)?;
        assert_eq!(request.wait()?.0, [7; 3]);
        sent.wait()?;
    }
    Ok(())
}
