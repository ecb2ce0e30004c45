//! Values that are no plain data.

use ranks::Pack;
use ranks_collectives::Collectives;
use ranks_comm::{Communicator, ErrorKind, Result};

#[derive(Debug, Clone, PartialEq, Pack)]
#[repr(i16)]
enum Wall {
    Open = -3,
    Closed = 300,
}

/// Padded, and with parts that not any bytes are a value of.
#[derive(Debug, Clone, PartialEq, Pack)]
struct Cell {
    is_alive: bool,
    value: f64,
    wall: Wall,
    mark: char,
}

/// Of rank `from` for rank `to`.
fn cells(from: usize, to: usize, length: usize) -> Vec<Cell> {
    let cell = |number: usize| Cell {
        is_alive: (from + number).is_multiple_of(2),
        value: (100 * from + 10 * to + number) as f64,
        wall: [Wall::Open, Wall::Closed][(to + number) % 2].clone(),
        mark: ['ä', '\u{10ffff}'][from % 2],
    };
    (0..length).map(cell).collect()
}

/// The cells of a slice that nothing has arrived in.
fn blank(length: usize) -> Vec<Cell> {
    cells(77, 77, length)
}

#[ranks_test::ranks(1, 2, 3, 4)]
#[case(0)]
#[case(1)]
#[case(5)]
fn values_arrive_where_plain_data_would(world: Communicator, length: usize) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let to_all = |from| -> Vec<Cell> { (0..size).flat_map(|to| cells(from, to, length)).collect() };
    let from_all =
        |to| -> Vec<Cell> { (0..size).flat_map(|from| cells(from, to, length)).collect() };
    for root in 0..size {
        let is_root = rank == root;
        let mut told = if is_root {
            cells(root, 0, length)
        } else {
            blank(length)
        };
        world.bcast_packed(&mut told, root)?;
        assert_eq!(told, cells(root, 0, length));

        let mut all = blank(if is_root { size * length } else { 0 });
        world.gather_packed(&cells(rank, root, length), &mut all, root)?;
        assert_eq!(all, if is_root { from_all(root) } else { vec![] });

        let (dealt, mut mine) = (if is_root { to_all(root) } else { vec![] }, blank(length));
        world.scatter_packed(&dealt, &mut mine, root)?;
        assert_eq!(mine, cells(root, rank, length));
    }
    let mut all = blank(size * length);
    world.allgather_packed(&cells(rank, 9, length), &mut all)?;
    assert_eq!(all, from_all(9));
    world.alltoall_packed(&to_all(rank), &mut all)?;
    assert_eq!(all, from_all(rank));
    Ok(())
}

/// The error names the rank that has sent a byte 2 for a `bool`, and nothing is written.
fn refused(outcome: Result<()>, operation: &str, source: usize, recv: &[bool]) {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
    let text = format!("{operation}: element 0 from rank {source} is no bool: 2 is no bool; ");
    assert!(error.to_string().starts_with(&text), "{error}");
    assert!(recv.iter().all(|&flag| flag));
}

/// The last rank sends bytes, all others values.
#[ranks_test::ranks(2, 3, 4)]
fn what_is_no_value_is_an_error_where_it_arrives(world: Communicator) -> Result<()> {
    let (size, wrong) = (world.size(), world.size() - 1);
    let (first, mut one, mut all) = (0, [true], vec![true; size]);
    if world.rank() == wrong {
        world.bcast(&mut [2u8], wrong)?;
        world.scatter(&vec![2u8; size], &mut [0], wrong)?;
        world.allgather(&[2u8], &mut vec![0; size])?;
        world.alltoall(&vec![2u8; size], &mut vec![0; size])?;
        world.gather(&[2u8], &mut vec![0; size], first)?;
    } else {
        refused(
            world.bcast_packed(&mut one, wrong),
            "MPI_Bcast",
            wrong,
            &one,
        );
        refused(
            world.scatter_packed(&[], &mut one, wrong),
            "MPI_Scatter",
            wrong,
            &one,
        );
        let outcome = world.allgather_packed(&[false], &mut all);
        refused(outcome, "MPI_Allgather", wrong, &all);
        let outcome = world.alltoall_packed(&vec![false; size], &mut all);
        refused(outcome, "MPI_Alltoall", wrong, &all);
        let outcome = world.gather_packed(&[false], &mut all, first);
        if world.rank() == first {
            refused(outcome, "MPI_Gather", wrong, &all);
        } else {
            outcome?;
        }
    }
    // Ranks are in step, and an invalid value of the others is none of the root's own.
    world.barrier()?;
    let mut mine = [world.rank() == wrong];
    world.bcast_packed(&mut mine, wrong)?;
    assert_eq!(mine, [true]);
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn ranks_compare_what_values_are_packed_into(world: Communicator) -> Result<()> {
    let outcome = match world.rank() {
        0 => world.bcast_packed(&mut [('a', true)], 0),
        _ => world.bcast_packed(&mut [(1u64, true)], 0),
    };
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let text = error.to_string();
    assert!(
        text.contains("1 (u32, u8), root 0") && text.contains("1 (u64, u8), root 0"),
        "{text}"
    );
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn lengths_and_roots_are_looked_at_as_those_of_plain_data_are(world: Communicator) {
    let size = world.size();
    let kinds = [
        world.bcast_packed(&mut [true], size),
        world.allgather_packed(&[true], &mut vec![true; size + 1]),
        world.alltoall_packed(&vec![true; size], &mut vec![true; 2 * size]),
    ]
    .map(|outcome| outcome.unwrap_err().kind());
    assert_eq!(
        kinds,
        [ErrorKind::Root, ErrorKind::Length, ErrorKind::Length]
    );
}
