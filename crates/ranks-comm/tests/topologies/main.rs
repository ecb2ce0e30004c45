//! Virtual topologies, and operations on them.
#![allow(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "numbers of ranks are small"
)]

mod dist_graphs;
mod graphs;
mod grids;
mod halos;
mod known;
#[path = "../../../../testing/lanes.rs"]
mod lanes;

use ranks_comm::{Cartesian, Communicator, Neighborhood, Result, balanced_dims};

use lanes::lanes;

/// A grid of all ranks, as square as possible.
fn square(world: &Communicator, periods: [bool; 2]) -> Result<Cartesian> {
    let mut dims = [0, 0];
    balanced_dims(world.size(), &mut dims)?;
    let grid = world.cart_create(&dims, &periods, false)?;
    Ok(grid.expect("the grid has room for all ranks"))
}

/// Gathers the number of each rank of `comm` on all of them.
fn all(comm: &Communicator, mine: usize) -> Result<Vec<usize>> {
    let mut numbers = vec![mine; comm.size()];
    for other in (0..comm.size()).filter(|&other| other != comm.rank()) {
        comm.sendrecv(&[mine], other, 0, &mut numbers[other..=other], other, 0)?;
    }
    Ok(numbers)
}

#[test]
fn a_lane_is_how_often_the_rank_was_there_before() {
    let neighbors = [Some(3), None, Some(3), Some(1), Some(3)];
    assert_eq!(lanes(&neighbors, |place| place), [0, 0, 1, 0, 2]);
}

/// Sends a number to every neighbour and receives one from each, lane by lane.
fn trade(graph: &impl Neighborhood) -> Result<Vec<Option<usize>>> {
    let (size, me) = (graph.size(), graph.rank());
    let lane = |lane: usize| i32::try_from(lane).expect("lanes are few");
    let out_lanes = lanes(graph.out_neighbors(), |place| place);
    let in_lanes = lanes(graph.in_neighbors(), |place| graph.order_of_arrival(place));
    let to = |rank: usize| {
        let neighbors = graph.out_neighbors().iter().enumerate();
        neighbors
            .filter(move |(_, dest)| **dest == Some(rank))
            .map(|(index, _)| (index, lane(out_lanes[index])))
    };
    let from = |rank: usize| {
        let neighbors = graph.in_neighbors().iter().enumerate();
        neighbors
            .filter(move |(_, source)| **source == Some(rank))
            .map(|(index, _)| (index, lane(in_lanes[index])))
    };
    if graph.are_distinct() {
        let neighbors = [graph.in_neighbors(), graph.out_neighbors()];
        for neighbors in neighbors {
            let mut ranks: Vec<usize> = neighbors.iter().copied().flatten().collect();
            ranks.sort_unstable();
            assert!(ranks.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }
    let mut got = vec![None; graph.in_neighbors().len()];
    // A blocking send to oneself may deadlock.
    for (index, tag) in to(me) {
        let same = from(me).find(|&(_, lane)| lane == tag);
        let (into, _) = same.expect("every edge has two ends");
        let mut number = [0];
        graph.sendrecv(&[me * 100 + index], me, tag, &mut number, me, tag)?;
        got[into] = Some(number[0]);
    }
    for round in 1..size {
        for (index, tag) in to((me + round) % size) {
            graph.send(&[me * 100 + index], (me + round) % size, tag)?;
        }
        let source = (me + size - round) % size;
        for (index, tag) in from(source) {
            let mut number = [0];
            graph.recv(&mut number, source, tag)?;
            got[index] = Some(number[0]);
        }
    }
    Ok(got)
}
