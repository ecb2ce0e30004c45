//! Distributed graph topologies.

use ranks_comm::{Communicator, DistGraph, Neighborhood, Result};

use crate::trade;

/// Edges from each rank to the next two, named by their sources if `adjacent` is false.
pub(crate) fn ahead(world: &Communicator, weighted: bool, adjacent: bool) -> Result<DistGraph> {
    let (me, size) = (world.rank(), world.size());
    let sources = [(me + size - 1) % size, (me + 2 * size - 2) % size];
    let destinations = [(me + 1) % size, (me + 2) % size];
    let weight = |from: usize, step: usize| u32::try_from(10 * from + step).expect("small");
    let into = [weight(sources[0], 1), weight(sources[1], 2)];
    let out = [weight(me, 1), weight(me, 2)];
    let (into, out) = (weighted.then_some(&into[..]), weighted.then_some(&out[..]));
    if adjacent {
        world.dist_graph_create_adjacent(&sources, into, &destinations, out, false)
    } else {
        world.dist_graph_create(&[me], &[2], &destinations, out, false)
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn edges_at_a_rank_with_and_without_weights(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    for (weighted, adjacent) in [(true, true), (true, false), (false, true), (false, false)] {
        let graph = ahead(&world, weighted, adjacent)?;
        assert_eq!((graph.rank(), graph.size()), (me, size));
        assert_eq!(graph.source_weights().is_some(), weighted);
        assert_eq!(graph.destination_weights().is_some(), weighted);
        let expected_sources = [(me + size - 1) % size, (me + 2 * size - 2) % size];
        let expected_destinations = [(me + 1) % size, (me + 2) % size];
        if adjacent {
            assert_eq!(graph.sources(), expected_sources);
            assert_eq!(graph.destinations(), expected_destinations);
        }
        let sorted = |ranks: &[usize]| {
            let mut ranks = ranks.to_vec();
            ranks.sort_unstable();
            ranks
        };
        assert_eq!(sorted(graph.sources()), sorted(&expected_sources));
        assert_eq!(sorted(graph.destinations()), sorted(&expected_destinations));
        if let (Some(into), Some(out)) = (graph.source_weights(), graph.destination_weights()) {
            assert_eq!(into.iter().map(|weight| weight % 10).sum::<u32>(), 3);
            for (&source, weight) in graph.sources().iter().zip(into) {
                assert_eq!(u32::try_from(source).expect("small"), weight / 10);
            }
            assert_eq!(out.iter().map(|weight| weight % 10).sum::<u32>(), 3);
            assert!(out.iter().all(|weight| *weight as usize / 10 == me));
        }
        let sources = trade(&graph)?
            .into_iter()
            .map(|got| got.map(|got| got / 100));
        assert_eq!(sources.collect::<Vec<_>>(), graph.in_neighbors());
    }
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn one_rank_names_all_edges(world: Communicator) -> Result<()> {
    let size = world.size();
    // A star: all edges lead to 0, named by the last rank; the others have empty lists of weights.
    let sources: Vec<usize> = (1..size).collect();
    let (degrees, destinations) = (vec![1; size - 1], vec![0; size - 1]);
    let weights: Vec<u32> = (1..).take(size - 1).collect();
    let graph = if world.rank() == size - 1 {
        world.dist_graph_create(&sources, &degrees, &destinations, Some(&weights), false)?
    } else {
        world.dist_graph_create(&[], &[], &[], Some(&[]), false)?
    };
    if world.rank() == 0 {
        let mut named = graph.sources().to_vec();
        named.sort_unstable();
        assert_eq!(named, sources);
        let from_weights = graph.source_weights().expect("the graph has weights");
        let found = from_weights.iter().map(|&weight| weight as usize);
        assert_eq!(found.collect::<Vec<_>>(), graph.sources());
        assert_eq!(graph.destinations(), [0; 0]);
    } else {
        assert_eq!(graph.destinations(), [0]);
        let weight = u32::try_from(world.rank()).expect("small");
        assert_eq!(graph.destination_weights(), Some(&[weight][..]));
        assert_eq!(graph.sources(), [0; 0]);
    }
    graph.free()
}

#[ranks_test::ranks(1, 2, 4)]
fn a_graph_without_edges(world: Communicator) -> Result<()> {
    for weights in [None, Some(&[][..])] {
        for graph in [
            world.dist_graph_create(&[], &[], &[], weights, false)?,
            world.dist_graph_create_adjacent(&[], weights, &[], weights, false)?,
        ] {
            assert_eq!((graph.sources(), graph.destinations()), (&[][..], &[][..]));
            assert_eq!(graph.size(), world.size());
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 4)]
fn reordered_graphs_are_whole(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let (before, after) = ([(me + size - 1) % size], [(me + 1) % size]);
    let graph = world.dist_graph_create_adjacent(&before, None, &after, None, true)?;
    let size = graph.size();
    assert_eq!(graph.sources(), [(graph.rank() + size - 1) % size]);
    assert_eq!(graph.destinations(), [(graph.rank() + 1) % size]);
    trade(&graph).map(drop)
}

/// Calls are compared by nonblocking collectives, after which Open MPI 4 waited for ever.
#[ranks_test::ranks(3)]
fn graphs_are_made_again_and_again(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let (before, after) = ((me + size - 1) % size, (me + 1) % size);
    for round in 1..30 {
        let ring = world.dist_graph_create_adjacent(&[before], None, &[after], None, false)?;
        assert_eq!(ring.sources(), [before]);
        let to = (me + round) % size;
        let graph = world.dist_graph_create(&[me], &[1], &[to], None, false)?;
        assert_eq!(graph.destinations(), [to]);
    }
    Ok(())
}
