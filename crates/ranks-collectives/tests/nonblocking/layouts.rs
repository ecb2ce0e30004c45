//! Parts of slices that are no blocks, in operations that return at once and in those that are prepared.

use ranks_collectives::{Layouts, NonblockingCollectives, PersistentCollectives};
use ranks_comm::layout::Layout;
use ranks_comm::{Communicator, ErrorKind, Result};

use crate::{received, still_works};

const ROUNDS: usize = 3;
const CANARY: u32 = 0xFEED_BEEF;

/// Columns out of the rows of one rank, and where the rows of the others arrive as columns.
fn turning(size: usize, rows: usize) -> [Layouts; 2] {
    let columns = rows * size;
    let column = Layout::vector(rows, 1, columns);
    let square: Vec<(usize, Layout)> = (0..rows).map(|start| (start, column.clone())).collect();
    let of_each = |part: &Layout| Layouts::new((0..size).map(|rank| part.at(rows * rank)));
    [
        of_each(&Layout::concat(&square)),
        of_each(&Layout::vector(rows, rows, columns)),
    ]
}

/// A square matrix of which each rank has some rows becomes one of which it has the same columns.
fn matrices_turn(world: &Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    for rows in [0, 1, 40] {
        let columns = rows * size;
        let [send, recv] = turning(size, rows);
        let first = rows * me;
        let filled = |at: &dyn Fn(usize, usize) -> [u16; 3]| -> Vec<[u16; 3]> {
            let each =
                (first..first + rows).flat_map(|row| (0..columns).map(move |col| (row, col)));
            each.map(|(row, column)| at(row, column)).collect()
        };
        let cell = |round: usize, row: usize, column: usize| [round, row, column].map(|x| x as u16);
        let mine = |round| filled(&|row, column| cell(round, row, column));
        let turned = |round| filled(&|row, column| cell(round, column, row));
        let room = || vec![[9; 3]; rows * columns];
        let mut prepared = world.alltoallw_init(mine(9), room(), &send, &recv)?;
        let mut under_way = Vec::new();
        for round in 0..ROUNDS {
            under_way.push(world.ialltoallw(mine(round), room(), &send, &recv)?);
            prepared.send_mut().copy_from_slice(&mine(round));
            let active = prepared.start()?;
            // Others of the kind are begun and ended meanwhile.
            let other = world.ialltoallw(mine(7), room(), &send, &recv)?;
            assert_eq!(received(other)?, turned(7));
            (prepared, _) = active.wait()?;
            assert_eq!(prepared.recv(), turned(round));
        }
        // What says what travels may go before it has arrived.
        drop((send, recv));
        for (round, request) in under_way.into_iter().enumerate().rev() {
            assert_eq!(received(request)?, turned(round));
        }
    }
    still_works(world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn matrices_are_turned_at_each_start(world: Communicator) -> Result<()> {
    matrices_turn(&world)
}

#[ranks_test::ranks(8, in_process_only)]
fn matrices_are_turned_among_many(world: Communicator) -> Result<()> {
    matrices_turn(&world)
}

/// How many elements go from one rank to another.
fn between(from: usize, to: usize) -> usize {
    [2, 0, 5000][(from + 2 * to) % 3]
}

/// Every second element from the third on, so many for each rank, and how long the slice is.
fn every_second(counts: impl Iterator<Item = usize>) -> (Layouts, usize) {
    let mut end = 3;
    let mut layouts: Vec<Layout> = Vec::new();
    for count in counts {
        layouts.push(Layout::vector(count, 1, 2).at(end));
        end += 2 * count;
    }
    (Layouts::new(layouts), end + 8)
}

/// A slice of canaries, in every second place of which the values lie.
fn spread(length: usize, values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut whole = vec![CANARY; length];
    for (place, value) in whole.iter_mut().skip(3).step_by(2).zip(values) {
        *place = value;
    }
    whole
}

fn uneven_parts(world: &Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let (send, sent) = every_second((0..size).map(|to| between(me, to)));
    let (recv, expected) = every_second((0..size).map(|from| between(from, me)));
    let part = |from: usize, to: usize| {
        (0..between(from, to)).map(move |index| (index + 10_000 * (from + 10 * to)) as u32)
    };
    let data = spread(sent, (0..size).flat_map(|to| part(me, to)));
    let whole = spread(expected, (0..size).flat_map(|from| part(from, me)));
    let room = || vec![CANARY; expected];
    let request = world.ialltoallw(data.clone(), room(), &send, &recv)?;
    let mut prepared = world.alltoallw_init(data.clone(), room(), &send, &recv)?;
    for _ in 0..2 {
        (prepared, _) = prepared.start()?.wait()?;
        assert_eq!(prepared.recv(), whole);
    }
    assert_eq!(received(request)?, whole);
    // One that nobody waits for leaves nothing to the next.
    drop(world.ialltoallw(vec![1; sent], room(), &send, &recv)?);
    drop(prepared.start()?);
    let next = world.ialltoallw(data, room(), &send, &recv)?;
    assert_eq!(received(next)?, whole);
    still_works(world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn uneven_parts_leave_the_gaps_alone(world: Communicator) -> Result<()> {
    uneven_parts(&world)
}

#[ranks_test::ranks(8, in_process_only)]
fn uneven_parts_leave_the_gaps_alone_among_many(world: Communicator) -> Result<()> {
    uneven_parts(&world)
}

/// All ranks are wrong in the same way, and nothing is begun.
#[ranks_test::ranks(1, 2, 3, 4)]
fn layouts_that_do_not_fit_are_refused(world: Communicator) -> Result<()> {
    let size = world.size();
    let each = |start: usize, count: usize| {
        Layouts::new((0..count).map(|rank| Layout::contiguous(2).at(start + 2 * rank)))
    };
    let refused = |send: &Layouts, recv: &Layouts, expected: ErrorKind| {
        let buffers = || (vec![1_u8; 2 * size], vec![0_u8; 2 * size]);
        let (data, room) = buffers();
        let error = world.ialltoallw(data, room, send, recv).unwrap_err();
        assert_eq!(error.kind(), expected, "{error}");
        let (data, room) = buffers();
        let error = world.alltoallw_init(data, room, send, recv).unwrap_err();
        assert_eq!(error.kind(), expected, "{error}");
    };
    let fine = each(0, size);
    refused(&each(0, size + 1), &fine, ErrorKind::Length);
    refused(&fine, &each(0, size - 1), ErrorKind::Length);
    refused(&each(1, size), &fine, ErrorKind::Length);
    refused(&fine, &each(1, size), ErrorKind::Length);
    let shorter = Layouts::new((0..size).map(|rank| Layout::contiguous(1).at(rank)));
    refused(&fine, &shorter, ErrorKind::Length);
    let twice = Layouts::new((0..size).map(|_| Layout::indexed(&[(0, 1), (0, 1)])));
    refused(&fine, &twice, ErrorKind::Argument);
    let request = world.ialltoallw(vec![3_u8; 2 * size], vec![0; 2 * size], &fine, &fine)?;
    assert_eq!(received(request)?, vec![3; 2 * size]);
    still_works(&world)
}
