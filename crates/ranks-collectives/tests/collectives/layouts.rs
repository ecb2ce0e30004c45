//! Parts of slices that are no blocks: matrices are transposed, halos are filled.

use ranks_collectives::{Layouts, NeighborCollectives, NonblockingCollectives, VaryingCollectives};
use ranks_comm::layout::Layout;
use ranks_comm::{Communicator, ErrorKind, Result};

use crate::model::{Guarded, Particle, Sample, block, long};

/// A square matrix of which each rank has some rows becomes one of which it has the same columns,
/// in one call.
fn transposed<T: Sample>(world: &Communicator, rows: usize) {
    let (me, size) = (world.rank(), world.size());
    let columns = rows * size;
    let first = rows * me;
    let at = |row: usize, column: usize| T::sample(row, column);
    let mine: Vec<T> = (first..first + rows)
        .flat_map(|row| (0..columns).map(move |column| at(row, column)))
        .collect();
    let column = Layout::vector(rows, 1, columns);
    let square: Vec<(usize, Layout)> = (0..rows).map(|start| (start, column.clone())).collect();
    let by_columns = Layout::concat(&square);
    let by_rows = Layout::vector(rows, rows, columns);
    let of_each = |part: &Layout| Layouts::new((0..size).map(|rank| part.at(rows * rank)));
    let (send, recv) = (of_each(&by_columns), of_each(&by_rows));
    let mut turned = Guarded::<T>::new(mine.len());
    world
        .alltoallw(&mine, &send, turned.buffer(), &recv)
        .unwrap();
    let expected: Vec<T> = (first..first + rows)
        .flat_map(|row| (0..columns).map(move |column| at(column, row)))
        .collect();
    turned.expect(&expected, "a transposed matrix");
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn matrices_are_transposed(world: Communicator) {
    transposed::<f64>(&world, 0);
    transposed::<f64>(&world, 1);
    transposed::<f64>(&world, 60);
    transposed::<Particle>(&world, 3);
    transposed::<[u8; 3]>(&world, 5);
    transposed::<()>(&world, 2);
}

/// Three elements for each rank, those of rank 0 near the beginning, those of others with or
/// without gaps farther away than an `int` says.
fn far_parts(size: usize) -> (Layouts, usize) {
    let far = (1 << 31) + 11;
    let part = |rank: usize| match rank {
        0 => Layout::vector(3, 1, 2).at(1),
        1 => Layout::contiguous(3).at(far + 8),
        _ => Layout::vector(3, 1, 2).at(far + 8 * rank),
    };
    (Layouts::new((0..size).map(part)), far + 8 * size)
}

#[ranks_test::ranks(1, 2, 3)]
fn parts_that_an_int_cannot_place(world: Communicator) -> Result<()> {
    // Nothing but the parts is touched, so that the gap takes no memory.
    let (me, size) = (world.rank(), world.size());
    let (layouts, length) = far_parts(size);
    let (mut send, mut recv) = (vec![0_u8; length], vec![0_u8; length]);
    let values = |from: usize, to: usize| [1, 2, 3].map(|i| (100 * from + 10 * to + i) as u8);
    for (to, layout) in layouts.layouts().iter().enumerate() {
        layout.of_mut(&mut send)?.scatter(&values(me, to));
    }
    world.alltoallw(&send, &layouts, &mut recv, &layouts)?;
    for (from, layout) in layouts.layouts().iter().enumerate() {
        assert_eq!(layout.of(&recv)?.to_vec(), values(from, me));
    }
    let request = world.ialltoallw(send, &layouts, vec![0_u8; length], &layouts)?;
    let ((_, recv), _) = request.wait()?;
    for (from, layout) in layouts.layouts().iter().enumerate() {
        assert_eq!(layout.of(&recv)?.to_vec(), values(from, me));
    }
    Ok(())
}

/// The number of elements that go from one rank to another.
fn between(from: usize, to: usize) -> usize {
    [2, 0, long(9000)][(from + 2 * to) % 3]
}

/// Every second element, so many for each rank, one rank after the other, the last one first.
fn every_second(counts: impl Iterator<Item = usize>) -> (Layouts, usize) {
    let mut end = 1;
    let mut layouts: Vec<Layout> = Vec::new();
    for count in counts {
        layouts.push(Layout::vector(count, 1, 2).at(end));
        end += 2 * count;
    }
    (Layouts::new(layouts), end)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn parts_of_different_lengths_leave_the_gaps_alone(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let (send, sent) = every_second((0..size).map(|to| between(me, to)));
    let (recv, received) = every_second((0..size).map(|from| between(from, me)));
    let values = |from: usize, to: usize| block::<u32>(from, 100 * to, between(from, to));
    let fill = |whole: &mut [u32], values: Vec<Vec<u32>>| {
        let values = values.into_iter().flatten();
        for (place, value) in whole.iter_mut().skip(1).step_by(2).zip(values) {
            *place = value;
        }
    };
    let mut data = vec![0; sent];
    fill(&mut data, (0..size).map(|to| values(me, to)).collect());
    let mut whole = vec![u32::sample(77, 123_456); received];
    fill(&mut whole, (0..size).map(|from| values(from, me)).collect());
    let mut room = Guarded::<u32>::new(received);
    world.alltoallw(&data, &send, room.buffer(), &recv)?;
    room.expect(&whole, "every second element");
    Ok(())
}

/// A ring of rows, each with a halo of two cells at both ends.
#[ranks_test::ranks(1, 2, 3, 4)]
fn a_halo_is_filled_in_one_call(world: Communicator) -> Result<()> {
    const OWN: usize = 5;
    let ring = world.cart_create(&[world.size()], &[true], false)?.unwrap();
    let cells = |rank: usize| block::<i64>(rank, 0, OWN);
    let mut line = vec![0; 2];
    line.extend(cells(ring.rank()));
    line.extend([0; 2]);
    let pair = Layout::contiguous(2);
    let borders = Layouts::new([pair.at(2), pair.at(OWN)]);
    let halo = Layouts::new([pair.clone(), pair.at(OWN + 2)]);
    let mut new = Guarded::<i64>::new(line.len());
    ring.neighbor_alltoallw(&line, &borders, new.buffer(), &halo)?;
    let (left, right) = ring.shift(0, 1)?;
    let (left, right) = (cells(left.unwrap()), cells(right.unwrap()));
    let mut whole = vec![i64::sample(77, 123_456); line.len()];
    whole[..2].copy_from_slice(&left[OWN - 2..]);
    whole[OWN + 2..].copy_from_slice(&right[..2]);
    new.expect(&whole, "a halo");
    Ok(())
}

/// Columns to the side and rows up and down, at the border to nobody; on few ranks a neighbour is
/// one twice or is oneself.
#[ranks_test::ranks(1, 2, 4)]
fn faces_of_a_field_go_to_four_neighbours(world: Communicator) -> Result<()> {
    let (rows, columns) = (6, 4);
    let mut dims = [0, 0];
    world.dims_create(world.size(), &mut dims)?;
    let grid = world.cart_create(&dims, &[false, true], false)?.unwrap();
    let row = |at: usize| Layout::contiguous(columns).at(at * columns);
    let column = |at: usize| Layout::vector(rows, 1, columns).at(at);
    let field: Vec<usize> = (0..rows * columns)
        .map(|cell| 1000 * grid.rank() + cell)
        .collect();
    let faces = Layouts::new([row(0), row(rows - 1), column(0), column(columns - 1)]);
    let lengths = [columns, columns, rows, rows];
    let places = [0, 10, 20, 30];
    let apart = lengths.iter().zip(places);
    let apart = Layouts::new(apart.map(|(&length, start)| Layout::contiguous(length).at(start)));
    let mut got = vec![9; 40];
    grid.neighbor_alltoallw(&field, &faces, &mut got, &apart)?;

    let (up, down) = grid.shift(0, 1)?;
    let (left, right) = grid.shift(1, 1)?;
    let face = |rank: Option<usize>, cells: Vec<usize>| match rank {
        Some(rank) => cells.into_iter().map(|cell| 1000 * rank + cell).collect(),
        None => vec![9; cells.len()],
    };
    let last_row = (columns * (rows - 1)..columns * rows).collect();
    let expected = [
        face(up, last_row),
        face(down, (0..columns).collect()),
        face(
            left,
            (0..rows).map(|row| row * columns + columns - 1).collect(),
        ),
        face(right, (0..rows).map(|row| row * columns).collect()),
    ];
    for (start, expected) in places.into_iter().zip(expected) {
        assert_eq!(got[start..start + expected.len()], expected);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn layouts_that_do_not_fit_are_refused_before_anything_is_sent(world: Communicator) -> Result<()> {
    let size = world.size();
    let each = |start: usize, step: usize, count: usize| {
        Layouts::new((0..count).map(|rank| Layout::contiguous(2).at(start + step * rank)))
    };
    let fine = each(0, 2, size);
    let data = vec![1; 2 * size];
    let mut recv = Guarded::<i32>::new(2 * size);
    let mut refused = |send: &Layouts, there: &Layouts| {
        let outcome = world.alltoallw(&data, send, recv.buffer(), there);
        let error = outcome.unwrap_err();
        assert_eq!(error.operation(), "MPI_Alltoallw");
        (error.kind(), error.to_string())
    };
    for (send, there, slice) in [
        (&each(1, 2, size), &fine, "send"),
        (&fine, &each(1, 2, size), "recv"),
    ] {
        let (_, text) = refused(send, there);
        let told = format!("MPI_Alltoallw: {slice}: the layout needs a slice of ");
        assert!(text.starts_with(&told), "{text}");
    }
    let mut kind = |send: &Layouts, there: &Layouts| refused(send, there).0;
    assert_eq!(kind(&each(0, 2, size + 1), &fine), ErrorKind::Length);
    assert_eq!(kind(&fine, &each(0, 2, size - 1)), ErrorKind::Length);
    assert_eq!(kind(&each(1, 2, size), &fine), ErrorKind::Length);
    assert_eq!(kind(&fine, &each(1, 2, size)), ErrorKind::Length);
    let huge = Layout::vector(usize::MAX, 1, usize::MAX);
    let huge = Layouts::new(vec![huge; size]);
    assert_eq!(kind(&fine, &huge), ErrorKind::Length);
    let shorter = Layouts::new((0..size).map(|rank| Layout::contiguous(1).at(rank)));
    assert_eq!(kind(&fine, &shorter), ErrorKind::Length);
    let twice = Layouts::new((0..size).map(|_| Layout::indexed(&[(0, 1), (0, 1)])));
    assert_eq!(kind(&fine, &twice), ErrorKind::Argument);
    if size > 1 {
        assert_eq!(kind(&fine, &each(0, 1, size)), ErrorKind::Argument);
    }
    recv.expect_untouched("layouts that do not fit");
    // They may well overlap where they are sent.
    world.alltoallw(&data, &each(0, 0, size), recv.buffer(), &fine)?;
    recv.expect(&data, "overlapping layouts that are sent");

    let ring = world.cart_create(&[size], &[true], false)?.unwrap();
    let mut recv = Guarded::<i32>::new(4);
    let (pair, one) = (each(0, 2, 2), each(0, 2, 1));
    let outcome = ring.neighbor_alltoallw(&[1; 4], &one, recv.buffer(), &pair);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Length);
    let upon = each(0, 1, 2);
    let outcome = ring.neighbor_alltoallw(&[1; 4], &pair, recv.buffer(), &upon);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Argument);
    recv.expect_untouched("layouts that do not fit");
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn parts_that_differ_between_two_ranks_are_told_to_all(world: Communicator) {
    let size = world.size();
    let length = 1 + usize::from(world.rank() == 1);
    let parts =
        |length: usize| Layouts::new((0..size).map(|rank| Layout::contiguous(length).at(2 * rank)));
    // What rank 1 sends to itself fits.
    let mut there = vec![Layout::contiguous(1); size];
    there[world.rank()] = Layout::contiguous(length);
    let there = there.into_iter().enumerate();
    let there = Layouts::new(there.map(|(rank, part)| part.at(2 * rank)));
    let (data, mut recv) = (vec![1; 2 * size], Guarded::<u8>::new(2 * size));
    let outcome = world.alltoallw(&data, &parts(length), recv.buffer(), &there);
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let text = "rank 1 sends 2 elements to rank 0, which expects 1";
    assert!(error.to_string().contains(text), "{error}");
    recv.expect_untouched("parts that differ");
}
