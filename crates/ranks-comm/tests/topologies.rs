//! Grids and graphs of ranks, and what is built on them.
#![allow(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "numbers of ranks are small"
)]

use ranks_comm::{
    Cartesian, Communicator, Comparison, DistGraph, ErrorKind, Graph, Halo, Neighborhood, Result,
    Topology, balanced_dims,
};

/// A grid of all ranks, as square as can be.
fn square(world: &Communicator, periods: [bool; 2]) -> Result<Cartesian> {
    let mut dims = [0, 0];
    balanced_dims(world.size(), &mut dims)?;
    let grid = world.cart_create(&dims, &periods, false)?;
    Ok(grid.expect("the grid has room for all ranks"))
}

/// What each rank of `comm` passes, on all of them.
fn all(comm: &Communicator, mine: usize) -> Result<Vec<usize>> {
    let mut numbers = vec![mine; comm.size()];
    for other in (0..comm.size()).filter(|&other| other != comm.rank()) {
        comm.sendrecv(&[mine], other, 0, &mut numbers[other..=other], other, 0)?;
    }
    Ok(numbers)
}

/// Sends a number to every neighbour and receives one from each, lane by lane.
fn trade(graph: &impl Neighborhood) -> Result<Vec<Option<usize>>> {
    let (size, me) = (graph.size(), graph.rank());
    let lane = |lane: usize| i32::try_from(lane).expect("lanes are few");
    let to = |rank: usize| {
        let neighbors = graph.out_neighbors().iter().enumerate();
        neighbors
            .filter(move |(_, dest)| **dest == Some(rank))
            .map(|(index, _)| (index, lane(graph.out_lane(index))))
    };
    let from = |rank: usize| {
        let neighbors = graph.in_neighbors().iter().enumerate();
        neighbors
            .filter(move |(_, source)| **source == Some(rank))
            .map(|(index, _)| (index, lane(graph.in_lane(index))))
    };
    let mut got = vec![None; graph.in_neighbors().len()];
    // A blocking send to oneself may wait for ever.
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

// Grids ---------------------------------------------------------------------------------------------------------------

#[ranks_test::ranks(4)]
fn a_grid_of_two_by_two(world: Communicator) -> Result<()> {
    let grid = world.cart_create(&[2, 2], &[false, true], true)?;
    let grid = grid.expect("the grid has room for all ranks");
    assert_eq!(grid.dimensions(), 2);
    assert_eq!(grid.dims(), [2, 2]);
    assert_eq!(grid.periods(), [false, true]);
    let [x, y] = [grid.my_coords()[0], grid.my_coords()[1]];
    assert!(x < 2 && y < 2);
    assert_eq!(grid.coords(grid.rank())?, [x, y]);

    let (xs, ys) = (grid.sub(&[true, false])?, grid.sub(&[false, true])?);
    assert_eq!((xs.size(), xs.rank()), (2, x));
    assert_eq!((ys.size(), ys.rank()), (2, y));
    assert_eq!((xs.dims(), xs.periods()), (&[2][..], &[false][..]));
    assert_eq!((ys.dims(), ys.periods()), (&[2][..], &[true][..]));

    // The first dimension ends.
    match grid.shift(0, 1)? {
        (None, Some(dest)) => assert_eq!((x, grid.coords(dest)?), (0, vec![1, y])),
        (Some(source), None) => assert_eq!((x, grid.coords(source)?), (1, vec![0, y])),
        other => panic!("{other:?}"),
    }
    // The second is a ring: one step either way is the other rank, two are this one.
    let (source, dest) = grid.shift(1, 1)?;
    for other in [source, dest] {
        assert_eq!(grid.coords(other.expect("rings do not end"))?, [x, 1 - y]);
    }
    assert_eq!(grid.shift(1, 2)?, (Some(grid.rank()), Some(grid.rank())));
    grid.free()
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_shift_goes_straight_into_sendrecv(world: Communicator) -> Result<()> {
    let grid = square(&world, [true, false])?;
    for (dimension, displacement) in [(0, 1), (0, -1), (1, 1), (1, -2), (1, 0)] {
        let (source, dest) = grid.shift(dimension, displacement)?;
        let mut got = [usize::MAX];
        let status = grid.sendrecv(&[grid.rank()], dest, 5, &mut got, source, 5)?;
        assert_eq!(status.source(), source);
        assert_eq!(got[0], source.unwrap_or(usize::MAX));
        if let Some(source) = source {
            let mut coords: Vec<isize> = grid.my_coords().iter().map(|&at| at as isize).collect();
            coords[dimension] -= displacement;
            assert_eq!(grid.cart_rank(&coords)?, source);
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn ranks_and_coordinates_are_each_others_inverse(world: Communicator) -> Result<()> {
    let grid = square(&world, [true, true])?;
    for rank in 0..grid.size() {
        let coords = grid.coords(rank)?;
        assert_eq!(rank, coords[0] * grid.dims()[1] + coords[1]);
        let far: Vec<isize> = coords
            .iter()
            .zip(grid.dims())
            .map(|(&coord, &dim)| coord as isize - 3 * dim as isize)
            .collect();
        assert_eq!(grid.cart_rank(&far)?, rank);
    }
    assert_eq!(grid.coords(grid.rank())?, grid.my_coords());
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn ranks_beyond_the_grid_get_none(world: Communicator) -> Result<()> {
    let grid = world.cart_create(&[world.size() - 1, 1], &[false, true], false)?;
    let outside = world.rank() == world.size() - 1;
    assert_eq!(grid.is_none(), outside);
    if let Some(grid) = grid {
        assert_eq!((grid.rank(), grid.size()), (world.rank(), world.size() - 1));
        assert_eq!(grid.shift(1, 1)?, (Some(grid.rank()), Some(grid.rank())));
    }
    // The next call that makes communicators counts the same children on all ranks.
    world.dup()?.free()
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_grid_without_dimensions_is_one_rank(world: Communicator) -> Result<()> {
    let point = world.cart_create(&[], &[], false)?;
    assert_eq!(point.is_some(), world.rank() == 0);
    if let Some(point) = point {
        assert_eq!((point.rank(), point.size(), point.dimensions()), (0, 1, 0));
        assert_eq!(point.my_coords(), [0; 0]);
        assert_eq!((point.coords(0)?, point.cart_rank(&[])?), (vec![], 0));
        assert_eq!(point.shift(0, 1).unwrap_err().kind(), ErrorKind::Argument);
        assert_eq!(point.in_neighbors(), []);
        assert_eq!(point.sub(&[])?.dimensions(), 0);
    }
    let alone = square(&world, [true, false])?.sub(&[false, false])?;
    assert_eq!((alone.size(), alone.dimensions()), (1, 0));
    let mut byte = [0u8];
    alone.sendrecv(&[1u8], 0, 0, &mut byte, 0, 0)?;
    assert_eq!(byte, [1]);
    match alone.topology()? {
        Some(Topology::Cartesian(found)) => assert_eq!(found.dimensions(), 0),
        other => panic!("{other:?}"),
    }
    alone.free()
}

#[ranks_test::ranks(1, 2, 4)]
fn a_subgrid_per_row(world: Communicator) -> Result<()> {
    let grid = square(&world, [false, true])?;
    let row = grid.sub(&[false, true])?;
    assert_eq!(row.dims(), [grid.dims()[1]]);
    assert_eq!(row.periods(), [true]);
    assert_eq!(row.my_coords(), [grid.my_coords()[1]]);
    let there = all(&row, grid.rank())?;
    let first = grid.my_coords()[0] * grid.dims()[1];
    assert_eq!(there, (first..first + row.size()).collect::<Vec<_>>());
    let same = grid.sub(&[true, true])?;
    assert_eq!(same.compare(&grid)?, Comparison::Congruent);
    assert_eq!(same.my_coords(), grid.my_coords());
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn neighbours_on_a_grid_are_source_and_destination_by_dimension(world: Communicator) -> Result<()> {
    for periods in [[false, false], [true, false], [true, true]] {
        let grid = square(&world, periods)?;
        let mut expected = Vec::new();
        for dimension in 0..2 {
            let (source, dest) = grid.shift(dimension, 1)?;
            expected.extend([source, dest]);
        }
        assert_eq!(grid.in_neighbors(), expected);
        assert_eq!(grid.out_neighbors(), expected);
        // What comes from before was sent to the one after, also round a ring of one or two.
        for (index, (number, source)) in trade(&grid)?.into_iter().zip(expected).enumerate() {
            assert_eq!(number, source.map(|source| source * 100 + (index ^ 1)));
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_map_gives_each_place_to_one_rank(world: Communicator) -> Result<()> {
    let size = world.size();
    let places = size.div_ceil(2);
    let mine = world.cart_map(&[places, 1], &[true, false])?;
    let mut taken: Vec<usize> = all(&world, mine.unwrap_or(usize::MAX))?;
    taken.sort_unstable();
    assert_eq!(taken[..places], (0..places).collect::<Vec<_>>());
    assert!(taken[places..].iter().all(|&rank| rank == usize::MAX));
    // The grid of rsmpi's example: quarters of the ranks in two rows.
    let columns = size / 4;
    if columns == 0 {
        let error = world.cart_map(&[2, columns], &[false, false]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
    } else {
        let mine = world.cart_map(&[2, columns], &[false, false])?;
        let there = all(&world, usize::from(mine.is_some()))?;
        assert_eq!(there.iter().sum::<usize>(), 2 * columns);
    }
    let ring: Vec<usize> = (0..size).map(|node| (node + 1) % size).collect();
    let index: Vec<usize> = (1..=size).collect();
    let mut taken = all(
        &world,
        world.graph_map(&index, &ring)?.unwrap_or(usize::MAX),
    )?;
    taken.sort_unstable();
    assert_eq!(taken, (0..size).collect::<Vec<_>>());
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn what_is_no_grid_is_refused(world: Communicator) -> Result<()> {
    let size = world.size();
    let kind = |dims: &[usize], periods: &[bool]| {
        let error = world.cart_create(dims, periods, false).unwrap_err();
        assert_eq!(error.operation(), "MPI_Cart_create");
        error.kind()
    };
    assert_eq!(kind(&[size], &[]), ErrorKind::Length);
    assert_eq!(kind(&[size + 1], &[true]), ErrorKind::Argument);
    assert_eq!(kind(&[size, 0], &[true; 2]), ErrorKind::Argument);
    assert_eq!(kind(&[usize::MAX; 2], &[true; 2]), ErrorKind::Argument);
    let grid = square(&world, [false, true])?;
    assert_eq!(grid.coords(size).unwrap_err().kind(), ErrorKind::Rank);
    assert_eq!(grid.shift(2, 1).unwrap_err().kind(), ErrorKind::Argument);
    assert_eq!(grid.cart_rank(&[0]).unwrap_err().kind(), ErrorKind::Length);
    let outside = grid.cart_rank(&[-1, 0]).unwrap_err();
    assert_eq!(outside.kind(), ErrorKind::Argument);
    assert_eq!(grid.sub(&[true]).unwrap_err().kind(), ErrorKind::Length);
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn different_arguments_are_the_same_error_everywhere(world: Communicator) -> Result<()> {
    let last = world.rank() == world.size() - 1;
    let error = world
        .cart_create(&[1, 1], &[last, false], false)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    let index: &[usize] = if last { &[0] } else { &[1] };
    let edges: &[usize] = if last { &[] } else { &[0] };
    let error = world.graph_create(index, edges, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    let grid = square(&world, [true, true])?;
    let error = grid.sub(&[last, true]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);

    let weights: Option<&[u32]> = last.then_some(&[]);
    let mixed = world.dist_graph_create(&[], &[], &[], weights, false);
    assert_eq!(mixed.unwrap_err().kind(), ErrorKind::Argument);
    let mixed = world.dist_graph_create_adjacent(&[], weights, &[], weights, false);
    assert_eq!(mixed.unwrap_err().kind(), ErrorKind::Argument);
    let outside = if last { world.size() } else { 0 };
    let error = world
        .dist_graph_create(&[outside], &[0], &[], None, false)
        .unwrap_err();
    let expected = if last {
        ErrorKind::Rank
    } else {
        ErrorKind::Argument
    };
    assert_eq!(error.kind(), expected);
    let reorder = world.dist_graph_create(&[], &[], &[], None, last);
    assert_eq!(reorder.unwrap_err().kind(), ErrorKind::Argument);
    // An edge that its destination does not know of.
    let to: &[usize] = if last { &[0] } else { &[] };
    let one_sided = world.dist_graph_create_adjacent(&[], None, to, None, false);
    assert_eq!(one_sided.unwrap_err().kind(), ErrorKind::Argument);
    // Nothing is out of step after that.
    all(&world, 1).map(drop)
}

// Sizes of grids ------------------------------------------------------------------------------------------------------

#[ranks_test::ranks(1, 2)]
fn sizes_are_chosen(world: Communicator) -> Result<()> {
    for nodes in [1, 2, 6, 7, 12, 16, 24, 36, 60, 97, 1000] {
        for fixed in [0, 1] {
            let mut dims = [0, fixed, 0];
            world.dims_create(nodes, &mut dims)?;
            assert_eq!(dims.iter().product::<usize>(), nodes);
            assert!(fixed == 0 || dims[1] == fixed);
            assert!(dims[0] >= dims[2], "{dims:?}");
        }
    }
    let mut dims = [0, 3, 0];
    world.dims_create(6, &mut dims)?;
    assert_eq!(dims, [2, 3, 1]);
    let mut dims = [0, 0];
    world.dims_create(6, &mut dims)?;
    assert_eq!(dims, [3, 2]);
    let mut nothing_to_choose = [2, 3];
    world.dims_create(6, &mut nothing_to_choose)?;
    world.dims_create(1, &mut [])?;
    for (nodes, dims) in [
        (7, &mut [0, 3][..]),
        (0, &mut [0]),
        (6, &mut [3, 1]),
        (2, &mut []),
        (usize::MAX, &mut [0]),
        (8, &mut [usize::MAX, 0]),
    ] {
        let error = world.dims_create(nodes, dims).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        assert_eq!(error.operation(), "MPI_Dims_create");
    }
    Ok(())
}

// Graphs --------------------------------------------------------------------------------------------------------------

/// Each rank's neighbours are the next one, and the one before if there are three.
fn ring(world: &Communicator) -> Result<Graph> {
    let size = world.size();
    let (mut index, mut edges) = (Vec::new(), Vec::new());
    for node in 0..size {
        edges.push((node + 1) % size);
        if size > 2 {
            edges.push((node + size - 1) % size);
        }
        index.push(edges.len());
    }
    let ring = world.graph_create(&index, &edges, false)?;
    let ring = ring.expect("every rank is a node");
    assert_eq!((ring.index(), ring.edges()), (&index[..], &edges[..]));
    Ok(ring)
}

#[ranks_test::ranks(2, 3, 4)]
fn a_graph_knows_everybodys_neighbours(world: Communicator) -> Result<()> {
    let ring = ring(&world)?;
    let size = ring.size();
    assert_eq!((ring.nodes(), size), (world.size(), world.size()));
    for rank in 0..size {
        let expected = [(rank + 1) % size, (rank + size - 1) % size];
        assert_eq!(ring.neighbors(rank)?, &expected[..(size - 1).min(2)]);
    }
    assert_eq!(ring.neighbors(size).unwrap_err().kind(), ErrorKind::Rank);
    let mine = ring.neighbors(ring.rank())?.iter().copied().map(Some);
    assert_eq!(ring.in_neighbors(), mine.clone().collect::<Vec<_>>());
    let sources = trade(&ring)?
        .into_iter()
        .map(|got| got.map(|got| got / 100));
    assert_eq!(sources.collect::<Vec<_>>(), mine.collect::<Vec<_>>());
    ring.free()
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn ranks_that_are_no_node_get_none(world: Communicator) -> Result<()> {
    let lonely = world.graph_create(&[0], &[], false)?;
    assert_eq!(lonely.is_some(), world.rank() == 0);
    if let Some(lonely) = lonely {
        assert_eq!((lonely.size(), lonely.neighbors(0)?), (1, &[][..]));
    }
    assert!(world.graph_create(&[], &[], false)?.is_none());
    world.dup()?.free()
}

#[ranks_test::ranks(1, 2)]
fn what_is_no_graph_is_refused(world: Communicator) -> Result<()> {
    let size = world.size();
    let kind = |index: &[usize], edges: &[usize]| {
        let error = world.graph_create(index, edges, true).unwrap_err();
        assert_eq!(error.operation(), "MPI_Graph_create");
        error.kind()
    };
    assert_eq!(kind(&vec![0; size + 1], &[]), ErrorKind::Argument);
    assert_eq!(kind(&[1], &[]), ErrorKind::Length);
    assert_eq!(kind(&[1], &[1]), ErrorKind::Rank);
    Ok(())
}

// Distributed graphs --------------------------------------------------------------------------------------------------

/// Edges from each rank to the next two, named by their sources if `adjacent` is false.
fn ahead(world: &Communicator, weighted: bool, adjacent: bool) -> Result<DistGraph> {
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
    // A star: everybody to 0, named by the last rank; the others have lists of weights that are empty.
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

// What a communicator tells of its topology ---------------------------------------------------------------------------

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_communicator_knows_its_topology(world: Communicator) -> Result<()> {
    assert!(world.topology()?.is_none());
    let grid = square(&world, [true, false])?;
    let copy = grid.dup()?;
    match copy.topology()? {
        Some(Topology::Cartesian(found)) => {
            assert_eq!(found.dims(), grid.dims());
            assert_eq!(found.periods(), grid.periods());
            assert_eq!(found.my_coords(), grid.my_coords());
            assert_eq!(found.in_neighbors(), grid.in_neighbors());
            assert_eq!(found.compare(&grid)?, Comparison::Congruent);
        }
        other => panic!("{other:?}"),
    }
    match grid.sub(&[true, false])?.topology()? {
        Some(Topology::Cartesian(found)) => assert_eq!(found.dims(), [grid.dims()[0]]),
        other => panic!("{other:?}"),
    }
    // A split is of ranks alone.
    let part = grid.split(Some(0), 0)?.expect("every rank has a color");
    assert!(part.topology()?.is_none());

    let index = vec![0; world.size()];
    let graph = world.graph_create(&index, &[], false)?;
    match graph.expect("every rank is a node").topology()? {
        Some(Topology::Graph(found)) => assert_eq!(found.index(), index),
        other => panic!("{other:?}"),
    }
    let graph = ahead(&world, true, true)?;
    match graph.topology()? {
        Some(topology) => {
            assert!(matches!(topology, Topology::DistGraph(_)));
            assert_eq!(topology.in_neighbors(), graph.in_neighbors());
            assert_eq!(topology.out_neighbors(), graph.out_neighbors());
            assert_eq!(topology.compare(&graph)?, Comparison::Identical);
        }
        None => panic!("the graph is gone"),
    }
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn dropped_topologies_are_freed_later(world: Communicator) -> Result<()> {
    // Ranks drop in different orders, and some have nothing to drop.
    let mut kept = Vec::new();
    for round in 0..40 {
        let grid = world.cart_create(&[world.size() - 1], &[true], false)?;
        if (round + world.rank()) % 3 == 0 {
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

// Halos ---------------------------------------------------------------------------------------------------------------

/// A number for each cell of a whole array of this shape.
fn value(at: &[usize], shape: &[usize]) -> i64 {
    at.iter()
        .zip(shape)
        .fold(1, |value, (&at, &length)| value * length as i64 + at as i64)
}

/// All indices of an array of this shape.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let shape = shape.to_vec();
    (0..shape.iter().product()).map(move |mut cell| {
        let mut at = vec![0; shape.len()];
        for (at, &length) in at.iter_mut().zip(&shape).rev() {
            *at = cell % length;
            cell /= length;
        }
        at
    })
}

/// Exchanges the halo of an array whose every rank owns `own` cells (`per` rank), and compares each cell with what the
/// whole array has there. Outside of a grid that ends, the boundary value `-1` is kept by the rank that owns the
/// cells next to it, and must be what the corners show.
fn check_halo(grid: &Cartesian, own: &[usize], widths: &[usize], corners: bool) -> Result<()> {
    let dimensions = grid.dimensions();
    let width = |dimension: usize| widths.get(dimension).copied().unwrap_or(0);
    let shape: Vec<usize> = own
        .iter()
        .enumerate()
        .map(|(d, own)| own + 2 * width(d))
        .collect();
    let ranks = |d: usize| grid.dims().get(d).copied().unwrap_or(1);
    let whole: Vec<usize> = own
        .iter()
        .enumerate()
        .map(|(d, own)| own * ranks(d))
        .collect();
    // The value that the whole array has at a place of mine; `None` outside of it.
    let truth = |at: &[usize]| -> Option<i64> {
        let mut place = Vec::new();
        for (d, &at) in at.iter().enumerate() {
            let coord = grid.my_coords().get(d).copied().unwrap_or(0);
            let at = (coord * own[d] + at) as isize - width(d) as isize;
            let length = whole[d] as isize;
            let periodic = d < dimensions && grid.periods()[d];
            let at = if periodic { at.rem_euclid(length) } else { at };
            place.push(usize::try_from(at).ok().filter(|&at| at < whole[d])?);
        }
        Some(value(&place, &whole))
    };
    // In how many dimensions a cell is in the halo, or beyond the end of the whole array.
    let outside = |at: &[usize]| {
        let beyond = |d: usize, at: usize| at < width(d) || at >= width(d) + own[d];
        at.iter()
            .enumerate()
            .filter(|&(d, &at)| beyond(d, at))
            .count()
    };
    let mut array: Vec<i64> = indices(&shape)
        .map(|at| match (truth(&at), outside(&at)) {
            (Some(value), 0) => value,
            (Some(_), _) => -2,
            (None, _) => -1,
        })
        .collect();
    let mut halo = if corners {
        Halo::new(grid, &shape, widths)?
    } else {
        Halo::faces_only(grid, &shape, widths)?
    };
    for _ in 0..2 {
        halo.exchange(&mut array)?;
        for (at, &found) in indices(&shape).zip(&array) {
            let expected = match (truth(&at), outside(&at)) {
                (Some(_), 2..) if !corners => -2,
                (Some(value), _) => value,
                (None, _) => -1,
            };
            assert_eq!(found, expected, "{at:?} of {shape:?} on {grid:?}");
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn halos_are_what_the_whole_array_has_there(world: Communicator) -> Result<()> {
    for periods in [[false, false], [true, false], [false, true], [true, true]] {
        let grid = square(&world, periods)?;
        for corners in [true, false] {
            check_halo(&grid, &[3, 4], &[1, 1], corners)?;
            check_halo(&grid, &[2, 3], &[2, 1], corners)?;
            check_halo(&grid, &[4, 3], &[0, 3], corners)?;
            // Cells of two numbers, and one dimension that is not split.
            check_halo(&grid, &[3, 2, 2], &[1, 2], corners)?;
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 4)]
fn halos_of_slabs_and_of_cubes(world: Communicator) -> Result<()> {
    for periodic in [true, false] {
        let slabs = world.cart_create(&[world.size()], &[periodic], false)?;
        let slabs = slabs.expect("there is room for all ranks");
        check_halo(&slabs, &[2, 5, 3], &[2], true)?;
        let mut dims = [0, 0, 0];
        world.dims_create(world.size(), &mut dims)?;
        let cubes = world.cart_create(&dims, &[periodic, true, false], false)?;
        let cubes = cubes.expect("there is room for all ranks");
        check_halo(&cubes, &[3, 2, 4], &[1, 2, 1], true)?;
        check_halo(&cubes, &[3, 2, 4], &[1, 2, 1], false)?;
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn arrays_that_do_not_fit_the_halo_are_refused(world: Communicator) -> Result<()> {
    let line = world.cart_create(&[world.size()], &[true], false)?;
    let line = line.expect("there is room for all ranks");
    let kind = |shape: &[usize], widths: &[usize]| {
        Halo::<f64>::new(&line, shape, widths).unwrap_err().kind()
    };
    assert_eq!(kind(&[], &[1]), ErrorKind::Length);
    assert_eq!(kind(&[5], &[1, 1]), ErrorKind::Length);
    assert_eq!(kind(&[5], &[2]), ErrorKind::Argument);
    let mut halo = Halo::new(&line, &[6, 2], &[2])?;
    assert_eq!(halo.shape(), [6, 2]);
    let error = halo.exchange(&mut [0.0; 11]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length);
    Ok(())
}

#[ranks_test::ranks(2)]
fn neighbours_of_other_widths_are_found_out(world: Communicator) -> Result<()> {
    let line = world.cart_create(&[2], &[false], false)?;
    let line = line.expect("there is room for all ranks");
    // Rank 0 expects less than rank 1 sends, which gets less than it expects.
    let columns = [2, 3][world.rank()];
    let mut array = vec![0u8; 3 * columns];
    let error = Halo::new(&line, &[3, columns], &[1])?
        .exchange(&mut array)
        .unwrap_err();
    let expected = [ErrorKind::Truncated, ErrorKind::Length][world.rank()];
    assert_eq!(error.kind(), expected, "{error}");
    Ok(())
}
