//! Messages of values that are no plain data: padded structs, `bool`, `char` and enums.
#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers of ranks are small"
)]

use ranks::Pack;
use ranks_comm::{Communicator, ErrorKind, Result, Source};

#[derive(Debug, Clone, Copy, PartialEq, Pack)]
#[repr(i16)]
enum Wall {
    Open = -3,
    Closed,
    Sliding = 300,
}

#[derive(Debug, Clone, PartialEq, Pack)]
struct Cell {
    is_alive: bool,
    value: f64,
    walls: [Wall; 3],
    mark: (char, bool),
}

/// The bytes of a cell without padding.
const PACKED: usize = 1 + 8 + 3 * 2 + 4 + 1;

fn cell(rank: usize, number: usize) -> Cell {
    let wall = |turn: usize| [Wall::Open, Wall::Closed, Wall::Sliding][(rank + turn) % 3];
    Cell {
        is_alive: number.is_multiple_of(2),
        value: (1000 * rank + number) as f64,
        walls: [wall(0), wall(number), wall(2)],
        mark: (['ä', '\u{10ffff}'][number % 2], rank.is_multiple_of(2)),
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn values_arrive_as_they_were_without_their_padding(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    assert!(size_of::<Cell>() > PACKED);
    for length in [0, 1, 1000] {
        let mine: Vec<Cell> = (0..length).map(|number| cell(rank, number)).collect();
        let request = world.isend(Cell::pack_all(&mine), right, 3)?;
        let (theirs, status) = world.recv_packed::<Cell>(left, 3)?;
        request.wait()?;
        assert!((0..length).map(|number| cell(left, number)).eq(theirs));
        assert_eq!((status.source(), status.tag()), (Some(left), Some(3)));
        assert_eq!(status.count::<u8>()?, length * PACKED);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn bytes_that_are_no_value_are_an_error_that_names_the_field(world: Communicator) -> Result<()> {
    // Where a field begins, what arrives for it, and the text about it.
    let wrong: [(usize, &[u8], &str); 5] = [
        (0, &[2], "its `is_alive` is 2, which is no bool"),
        (PACKED - 1, &[255], "its `mark.1` is 255, which is no bool"),
        (11, &7i16.to_ne_bytes(), "its `walls[1]` is 7, which is no "),
        (9, &[0xff; 2], "its `walls[0]` is -1, which is no "),
        (
            15,
            &0xdfffu32.to_ne_bytes(),
            "its `mark.0` is 0xdfff, which is no char",
        ),
    ];
    let (last, good) = (world.size() - 1, cell(0, 1));
    for (place, bytes, expected) in wrong {
        let sent = (world.rank() == 0)
            .then(|| {
                let mut both = Cell::pack_all(&[good.clone(), good.clone()]);
                let second = ranks::bytemuck::bytes_of_mut(&mut both[1]);
                second[place..place + bytes.len()].copy_from_slice(bytes);
                world.isend(both, last, 5)
            })
            .transpose()?;
        if world.rank() == last {
            let error = world.recv_packed::<Cell>(0, 5).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Value);
            let text = error.to_string();
            assert!(text.contains("element 1 from rank 0 is no "), "{text}");
            assert!(text.contains(expected), "{text}");
        }
        sent.map(|request| request.wait()).transpose()?;
    }
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn a_message_of_part_of_a_value_is_an_error(world: Communicator) -> Result<()> {
    if world.rank() == 0 {
        world.send(&[1u8; PACKED + 1], 1, 5)?;
        world.send_packed(&[cell(0, 0)], 1, 5)?;
    } else if world.rank() == 1 {
        let error = world.recv_packed::<Cell>(0, 5).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Type);
        let (text, named) = (error.to_string(), format!("Cell of {PACKED} bytes"));
        assert!(text.contains(&named) && !text.contains("Pair"), "{text}");
        assert_eq!(world.recv_packed::<Cell>(0, 5)?.0, [cell(0, 0)]);
    }
    let (nothing, status) = world.recv_packed::<Cell>(Source::Null, 0)?;
    assert_eq!((nothing, status.source()), (Vec::new(), None));
    Ok(())
}
