//! Parts of slices that are no blocks, in operations that return at once and in those that are
//! prepared.

use ranks_collectives::{
    Layouts, NeighborCollectives, NonblockingCollectives, NonblockingNeighborCollectives,
    PersistentNeighborCollectives, PersistentVaryingCollectives,
};
use ranks_comm::layout::Layout;
use ranks_comm::{Communicator, ErrorKind, Neighborhood, Result};

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
        let mut prepared = world.alltoallw_init(mine(9), &send, room(), &recv)?;
        let mut under_way = Vec::new();
        for round in 0..ROUNDS {
            under_way.push(world.ialltoallw(mine(round), &send, room(), &recv)?);
            prepared.send_mut().copy_from_slice(&mine(round));
            let active = prepared.start()?;
            // Others of the kind are begun and ended meanwhile.
            let other = world.ialltoallw(mine(7), &send, room(), &recv)?;
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

/// The number of elements that go from one rank to another.
fn between(from: usize, to: usize) -> usize {
    [2, 0, if cfg!(miri) { 20 } else { 5000 }][(from + 2 * to) % 3]
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
    let request = world.ialltoallw(data.clone(), &send, room(), &recv)?;
    let mut prepared = world.alltoallw_init(data.clone(), &send, room(), &recv)?;
    for _ in 0..2 {
        (prepared, _) = prepared.start()?.wait()?;
        assert_eq!(prepared.recv(), whole);
    }
    assert_eq!(received(request)?, whole);
    // One that nobody waits for leaves nothing to the next.
    drop(world.ialltoallw(vec![1; sent], &send, room(), &recv)?);
    drop(prepared.start()?);
    let next = world.ialltoallw(data, &send, room(), &recv)?;
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
        let error = world.ialltoallw(data, send, room, recv).unwrap_err();
        assert_eq!(error.kind(), expected, "{error}");
        let (data, room) = buffers();
        let error = world.alltoallw_init(data, send, room, recv).unwrap_err();
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
    let request = world.ialltoallw(vec![3_u8; 2 * size], &fine, vec![0; 2 * size], &fine)?;
    assert_eq!(received(request)?, vec![3; 2 * size]);
    still_works(&world)
}

/// What two neighbours get from this one, and where what they send goes: parts of one and of two
/// elements, with gaps.
fn halves(outer: [usize; 2], inner: [usize; 2]) -> [Layouts; 2] {
    let every_third = Layout::vector(2, 1, 3);
    let both = |places: [usize; 2]| Layouts::new(places.map(|place| every_third.at(place)));
    [both(inner), both(outer)]
}

/// The elements that rank r has, of which its neighbours get some.
fn cells(rank: usize, round: usize) -> Vec<u32> {
    (0..12)
        .map(|cell| (1000 * rank + 100 * round + cell) as u32)
        .collect()
}

/// The neighbours of `around` get what they get from the blocking form, in every round.
fn as_if_blocking<N>(around: &N) -> Result<Vec<u32>>
where
    N: Neighborhood + Clone + Send + 'static,
{
    let me = around.rank();
    let [send, recv] = halves([0, 8], [1, 5]);
    let room = || vec![CANARY; 14];
    let mut prepared = around.neighbor_alltoallw_init(cells(9, 9), &send, room(), &recv)?;
    let mut under_way = Vec::new();
    let mut expected = Vec::new();
    for round in 0..ROUNDS {
        let mine = cells(me, round);
        prepared.send_mut().copy_from_slice(&mine);
        under_way.push(around.ineighbor_alltoallw(mine.clone(), &send, room(), &recv)?);
        (prepared, _) = prepared.start()?.wait()?;
        let mut whole = room();
        around.neighbor_alltoallw(&mine, &send, &mut whole, &recv)?;
        assert_eq!(prepared.recv(), whole);
        expected.push(whole);
    }
    drop(around.ineighbor_alltoallw(cells(8, 8), &send, room(), &recv)?);
    drop((send, recv));
    for (request, whole) in under_way.into_iter().zip(&expected).rev() {
        assert_eq!(&received(request)?, whole);
    }
    Ok(expected.swap_remove(0))
}

/// Those before and after are one and the same among two, and oneself alone.
fn neighbours_get_their_parts(world: &Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let ring = world.cart_create(&[size], &[true], false)?.unwrap();
    let whole = as_if_blocking(&ring)?;
    let (left, right) = (cells((me + size - 1) % size, 0), cells((me + 1) % size, 0));
    let mut expected = vec![CANARY; 14];
    (expected[0], expected[3]) = (left[5], left[8]);
    (expected[8], expected[11]) = (right[1], right[4]);
    assert_eq!(whole, expected);

    let line = world.cart_create(&[size], &[false], false)?.unwrap();
    as_if_blocking(&line)?;
    let index: Vec<usize> = (1..=size).map(|rank| 2 * rank).collect();
    let edges: Vec<usize> = (0..size)
        .flat_map(|rank| [(rank + size - 1) % size, (rank + 1) % size])
        .collect();
    let graph = world.graph_create(&index, &edges, false)?.unwrap();
    as_if_blocking(&graph)?;

    let kind = |error: ranks_comm::Error| error.kind();
    let [send, recv] = halves([0, 8], [1, 5]);
    let [_, upon] = halves([0, 0], [0, 0]);
    let three = Layouts::new(vec![Layout::contiguous(1); 3]);
    let (from, to) = (|| cells(0, 0), || vec![CANARY; 14]);
    for (recv, expected) in [(&three, ErrorKind::Length), (&upon, ErrorKind::Argument)] {
        let error = ring.ineighbor_alltoallw(from(), &send, to(), recv);
        assert_eq!(kind(error.unwrap_err()), expected);
        let error = ring.neighbor_alltoallw_init(from(), &send, to(), recv);
        assert_eq!(kind(error.unwrap_err()), expected);
    }
    let short = ring.ineighbor_alltoallw(from(), &send, vec![0; 11], &recv);
    assert_eq!(kind(short.unwrap_err()), ErrorKind::Length);
    still_works(world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn neighbours_get_their_parts_at_each_start(world: Communicator) -> Result<()> {
    neighbours_get_their_parts(&world)
}

#[ranks_test::ranks(8, in_process_only)]
fn neighbours_get_their_parts_among_many(world: Communicator) -> Result<()> {
    neighbours_get_their_parts(&world)
}

/// MPICH 4.0.2 took as many counts of what a rank sends as it has sources, and wrote anywhere.
#[ranks_test::ranks(1, 2, 3, 4)]
fn a_rank_sends_to_more_than_it_receives_from(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    // Each rank receives from the last one, and the first ones from the first as well.
    let all: Vec<usize> = (0..size).collect();
    let both = &all[..size.div_ceil(2)];
    let last = size - 1;
    let sources = if both.contains(&me) {
        vec![last, 0]
    } else {
        vec![last]
    };
    let mut destinations: Vec<usize> = Vec::new();
    if me == last {
        destinations.extend(all.iter().rev());
    }
    if me == 0 {
        destinations.extend(both);
    }
    let graph = world.dist_graph_create_adjacent(&sources, None, &destinations, None, false)?;
    let block = |from: usize, to: usize| vec![(from * size + to) as u32; 2 + 5 * from + to];
    let sent: Vec<Vec<u32>> = destinations.iter().map(|&to| block(me, to)).collect();
    let received: Vec<Vec<u32>> = sources.iter().map(|&from| block(from, me)).collect();
    let layouts = |blocks: &[Vec<u32>]| {
        let mut end = 0;
        Layouts::new(blocks.iter().map(|block| {
            end += block.len();
            Layout::contiguous(block.len()).at(end - block.len())
        }))
    };
    let (here, there) = (layouts(&sent), layouts(&received));
    let (send, expected) = (sent.concat(), received.concat());
    let room = || vec![CANARY; expected.len()];
    let mut got = room();
    graph.neighbor_alltoallw(&send, &here, &mut got, &there)?;
    assert_eq!(got, expected);
    let begun = graph.ineighbor_alltoallw(send.clone(), &here, room(), &there)?;
    assert_eq!(begun.wait()?.0.1, expected);
    let prepared = graph.neighbor_alltoallw_init(send, &here, room(), &there)?;
    let (done, _) = prepared.start()?.wait()?;
    assert_eq!(done.recv(), expected);
    still_works(&world)
}
