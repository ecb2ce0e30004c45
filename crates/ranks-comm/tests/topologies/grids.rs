//! Cartesian topologies, and their dimensions.

use ranks_comm::{
    Communicator, Comparison, Error, ErrorKind, Neighborhood, Result, VirtualTopology,
};

use crate::{all, square, trade};

#[ranks_test::ranks(4)]
fn rsmpi_cartesian(world: Communicator) -> Result<()> {
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

    // The first dimension is not periodic.
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
    match alone.topo_test()? {
        Some(VirtualTopology::Cartesian(found)) => assert_eq!(found.dimensions(), 0),
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
        // A message from the rank before was sent to the rank after, also round a ring of one or
        // two.
        for (index, (number, source)) in trade(&grid)?.into_iter().zip(expected).enumerate() {
            assert_eq!(number, source.map(|source| source * 100 + (index ^ 1)));
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_rank_is_a_neighbour_twice_in_rings_of_one_and_two(world: Communicator) -> Result<()> {
    for is_periodic in [false, true] {
        let grid = world.cart_create(&[world.size(), 1], &[is_periodic, false], false)?;
        let grid = grid.expect("the grid has room for all ranks");
        assert_eq!(grid.are_distinct(), !is_periodic || world.size() > 2);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_cartesian_map(world: Communicator) -> Result<()> {
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
    // An edge that its destination does not name.
    let to: &[usize] = if last { &[0] } else { &[] };
    let one_sided = world.dist_graph_create_adjacent(&[], None, to, None, false);
    assert_eq!(one_sided.unwrap_err().kind(), ErrorKind::Argument);
    // Nothing is out of step after that.
    all(&world, 1).map(drop)
}

/// The others waited for the rank, or were a call ahead of it.
#[ranks_test::ranks(2, 3, 4)]
fn a_rank_that_refuses_its_arguments_tells_the_others(world: Communicator) -> Result<()> {
    let (size, first) = (world.size(), world.rank() == 0);
    let compares = world.compares_calls();
    let told = |error: Error, operation: &str, own: ErrorKind| {
        let text = error.to_string();
        let expected = match (first, compares) {
            (true, _) => own,
            (false, true) => ErrorKind::Mismatch,
            (false, false) => ErrorKind::Argument,
        };
        assert_eq!((error.kind(), error.operation()), (expected, operation));
        let refuses = format!("rank 0 refuses its arguments, {operation}: ");
        assert!(first || !compares || text.contains(&refuses), "{text}");
    };
    let dims = if first { [0] } else { [size] };
    let error = world.cart_create(&dims, &[true], false).unwrap_err();
    told(error, "MPI_Cart_create", ErrorKind::Argument);
    let periods: &[bool] = if first { &[] } else { &[true] };
    let error = world.cart_map(&[size], periods).unwrap_err();
    told(error, "MPI_Cart_map", ErrorKind::Length);
    let edges = [if first { size } else { 0 }];
    let error = world.graph_create(&[1], &edges, false).unwrap_err();
    told(error, "MPI_Graph_create", ErrorKind::Rank);
    let error = world.graph_map(&[1], &edges).unwrap_err();
    told(error, "MPI_Graph_map", ErrorKind::Rank);
    let grid = square(&world, [true, true])?;
    let remain: &[bool] = if first { &[true] } else { &[true; 2] };
    let error = grid.sub(remain).unwrap_err();
    told(error, "MPI_Cart_sub", ErrorKind::Length);
    // Nothing is out of step after that.
    grid.sub(&[true, false])?;
    all(&world, 1).map(drop)
}

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
    // MPICH ended by SIGFPE, and refuses so many dimensions.
    let mut prime = [0; 2];
    world.dims_create(2_147_483_629, &mut prime)?;
    assert_eq!(prime, [2_147_483_629, 1]);
    let mut many = [0; 40];
    world.dims_create(6, &mut many)?;
    assert_eq!(many.iter().product::<usize>(), 6);
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
