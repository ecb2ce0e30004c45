//! Communication among neighbours, over grids and graphs, blocking and not: what each sends is told
//! by the edge.

use ranks_collectives::{
    Blocks, NeighborCollectives, NonblockingNeighborCollectives, PersistentNeighborCollectives,
};
use ranks_comm::{Cartesian, Communicator, DistGraph, ErrorKind, Graph, Neighborhood, Result};

use crate::in_process::without_comparing;
use crate::lanes::lanes;
use crate::model::{Guarded, Sample, block, case, long};

/// A grid of all ranks.
fn grid(world: &Communicator, dims: usize, periods: &[bool]) -> Result<Cartesian> {
    let mut sizes = vec![0; dims];
    ranks_comm::balanced_dims(world.size(), &mut sizes)?;
    let grid = world.cart_create(&sizes, periods, false)?;
    Ok(grid.expect("the grid has room for all ranks"))
}

/// All ranks are neighbours of rank 0, twice, and rank 0 of itself.
fn star(world: &Communicator) -> Result<Graph> {
    let size = world.size();
    let mut edges: Vec<usize> = (0..size).chain(1..size).collect();
    let mut index = vec![edges.len()];
    for _ in 1..size {
        edges.extend([0, 0]);
        index.push(edges.len());
    }
    let graph = world.graph_create(&index, &edges, false)?;
    Ok(graph.expect("every rank is a node"))
}

/// Edges to the next rank, to oneself, and to the next rank again; on two ranks and more none end
/// at the last but one.
fn onward(world: &Communicator) -> Result<DistGraph> {
    let (me, size) = (world.rank(), world.size());
    let is_left_out = |rank: usize| size > 1 && rank == size - 2;
    let (before, after) = ((me + size - 1) % size, (me + 1) % size);
    let into = if is_left_out(me) {
        vec![]
    } else {
        vec![before, me, before]
    };
    let mut out = vec![after, me, after];
    out.retain(|&to| !is_left_out(to));
    world.dist_graph_create_adjacent(&into, None, &out, None, false)
}

/// An edge as both of its ends know it.
#[derive(Clone, Copy)]
struct Edge {
    from: usize,
    to: usize,
    lane: usize,
}

impl Edge {
    /// The number of elements that travel on it; more than is eager on some, and none on others.
    fn length(self, most: usize) -> usize {
        [1, 0, most, 17][(self.from + 2 * self.to + self.lane) % 4]
    }

    fn block<T: Sample>(self, length: usize) -> Vec<T> {
        block(self.from, 100 * self.to + 1000 * self.lane, length)
    }
}

fn leaving(around: &impl Neighborhood) -> Vec<Option<Edge>> {
    let from = around.rank();
    let lanes = lanes(around.out_neighbors(), |place| place);
    let neighbors = around.out_neighbors().iter().zip(lanes);
    neighbors
        .map(|(to, lane)| to.map(|to| Edge { from, to, lane }))
        .collect()
}

fn arriving(around: &impl Neighborhood) -> Vec<Option<Edge>> {
    let to = around.rank();
    let lanes = lanes(around.in_neighbors(), |place| {
        around.order_of_arrival(place)
    });
    let neighbors = around.in_neighbors().iter().zip(lanes);
    neighbors
        .map(|(from, lane)| from.map(|from| Edge { from, to, lane }))
        .collect()
}

/// Blocks in the opposite order, with gaps, and of a length that nobody looks at where there is no
/// neighbour.
fn about(edges: &[Option<Edge>], length: impl Fn(Edge) -> usize) -> Blocks {
    let counts: Vec<usize> = edges.iter().map(|edge| edge.map_or(2, &length)).collect();
    let mut places = vec![0; counts.len()];
    let mut start = 3;
    for index in (0..counts.len()).rev() {
        places[index] = start;
        start += counts[index] + 2;
    }
    Blocks::new(&counts, &places).unwrap()
}

/// A slice whose blocks are those of the edges; elsewhere it is what a buffer is before.
fn laid_out<T: Sample>(
    edges: &[Option<Edge>],
    blocks: &Blocks,
    value: impl Fn(Edge, usize) -> Vec<T>,
) -> Vec<T> {
    let mut whole = vec![T::sample(77, 123_456); blocks.end()];
    for (index, edge) in edges.iter().enumerate() {
        if let Some(edge) = edge {
            let place = blocks.range(index);
            let length = place.len();
            whole[place].copy_from_slice(&value(*edge, length));
        }
    }
    whole
}

/// The room for what is received, and the check of it once it has come.
fn expect<T: Sample>(whole: &[T], what: &str, call: impl FnOnce(&mut [T]) -> Result<()>) {
    let mut room = Guarded::<T>::new(whole.len());
    call(room.buffer()).unwrap();
    room.expect(whole, what);
}

/// All operations on blocks of one length.
fn even<T: Sample>(around: &impl Neighborhood, length: usize) {
    let (out, into) = (leaving(around), arriving(around));
    let here = Blocks::even(out.len() * length, out.len());
    let there = Blocks::even(into.len() * length, into.len());

    let mine = block::<T>(around.rank(), 0, length);
    let whole = laid_out(&into, &there, |edge, length| block(edge.from, 0, length));
    expect(&whole, &case::<T>("neighbor_allgather", length), |recv| {
        around.neighbor_allgather(&mine, recv)
    });
    let begun = around.ineighbor_allgather(mine, vec![T::sample(77, 123_456); there.end()]);

    let send = laid_out(&out, &here, Edge::block);
    let whole_too = laid_out(&into, &there, Edge::block);
    expect(
        &whole_too,
        &case::<T>("neighbor_alltoall", length),
        |recv| around.neighbor_alltoall(&send, recv),
    );
    let too = around.ineighbor_alltoall(send, vec![T::sample(77, 123_456); there.end()]);
    assert_eq!(too.unwrap().wait().unwrap().0.1, whole_too);
    assert_eq!(begun.unwrap().wait().unwrap().0.1, whole);
}

/// All operations on blocks of lengths of their own.
fn uneven<T: Sample>(around: &impl Neighborhood, most: usize) {
    let (out, into) = (leaving(around), arriving(around));
    let of = |rank: usize| [0, most, 5, 1][rank % 4];
    let me = around.rank();
    let there = about(&into, |edge| of(edge.from));
    let mine = block::<T>(me, 0, of(me));
    let whole = laid_out(&into, &there, |edge, length| block(edge.from, 0, length));
    expect(&whole, &case::<T>("neighbor_allgatherv", most), |recv| {
        around.neighbor_allgatherv(&mine, recv, &there)
    });
    let room = vec![T::sample(77, 123_456); there.end()];
    let begun = around.ineighbor_allgatherv(mine, room, &there);

    let here = about(&out, |edge| edge.length(most));
    let there = about(&into, |edge| edge.length(most));
    let send = laid_out(&out, &here, Edge::block);
    let whole_too = laid_out(&into, &there, Edge::block);
    expect(&whole_too, &case::<T>("neighbor_alltoallv", most), |recv| {
        around.neighbor_alltoallv(&send, &here, recv, &there)
    });
    let room = vec![T::sample(77, 123_456); there.end()];
    let too = around.ineighbor_alltoallv(send, &here, room, &there);
    assert_eq!(too.unwrap().wait().unwrap().0.1, whole_too);
    assert_eq!(begun.unwrap().wait().unwrap().0.1, whole);
}

fn everything(around: &impl Neighborhood) {
    even::<f64>(around, 0);
    even::<f64>(around, 3);
    even::<[u8; 3]>(around, long(9000));
    even::<()>(around, 4);
    uneven::<u16>(around, long(40_000));
    uneven::<crate::model::Particle>(around, 20);
    uneven::<()>(around, 4);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn rings(world: Communicator) -> Result<()> {
    everything(&grid(&world, 1, &[true])?);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn grids_with_borders(world: Communicator) -> Result<()> {
    everything(&grid(&world, 2, &[false, true])?);
    everything(&grid(&world, 2, &[false, false])?);
    Ok(())
}

#[ranks_test::ranks(1, 2, 4)]
fn grids_without_borders(world: Communicator) -> Result<()> {
    everything(&grid(&world, 3, &[true; 3])?);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn graphs_with_several_edges_between_two(world: Communicator) -> Result<()> {
    everything(&star(&world)?);
    everything(&onward(&world)?);
    Ok(())
}

#[ranks_test::ranks(8, in_process_only)]
fn eight_ranks(world: Communicator) -> Result<()> {
    let cube = grid(&world, 3, &[true, false, true])?;
    everything(&cube);
    prepared(&cube, 20)?;
    everything(&star(&world)?);
    everything(&onward(&world)?);
    Ok(())
}

/// Where nobody compares, the rank that is sent a block of another length says so, and what comes
/// after is well.
#[test]
fn a_block_of_another_length_is_an_error_in_process() {
    without_comparing(|world| {
        let ring = grid(world, 1, &[true]).unwrap();
        let last = world.size() - 1;
        let length = 2 + usize::from(world.rank() == last);
        let mut recv = vec![0; 2 * length];
        let outcome = ring.neighbor_alltoall(&vec![1; 2 * length], &mut recv);
        let beside = [last, 0, last - 1].contains(&world.rank());
        let kind = outcome.map_err(|error| error.kind());
        let expected = if beside {
            Err(ErrorKind::Length)
        } else {
            Ok(())
        };
        assert_eq!(kind, expected);
        even::<i32>(&ring, 5);
    });
}

#[ranks_test::ranks(1, 3)]
fn nobody_has_neighbours(world: Communicator) -> Result<()> {
    let alone = world.dist_graph_create_adjacent(&[], None, &[], None, false)?;
    alone.neighbor_allgather(&[1, 2], &mut [])?;
    alone.neighbor_alltoall::<i32>(&[], &mut [])?;
    let none = Blocks::default();
    alone.neighbor_allgatherv(&[1, 2], &mut [], &none)?;
    alone.neighbor_alltoallv::<i32>(&[], &none, &mut [], &none)?;
    alone.ineighbor_alltoall(vec![1; 0], vec![1; 0])?.wait()?;
    let point = grid(&world.dup()?, 1, &[true])?.sub(&[false])?;
    point.neighbor_allgather(&[1, 2], &mut [])?;
    Ok(())
}

/// All operations, prepared once and done with other numbers each time.
fn prepared(around: &(impl Neighborhood + Clone + Send + 'static), most: usize) -> Result<()> {
    let (out, into) = (leaving(around), arriving(around));
    let me = around.rank();
    let length = 3;
    let even_out = Blocks::even(out.len() * length, out.len());
    let even_into = Blocks::even(into.len() * length, into.len());
    let of = |rank: usize| [0, most, 5, 1][rank % 4];
    let from_each = about(&into, |edge| of(edge.from));
    let here = about(&out, |edge| edge.length(most));
    let there = about(&into, |edge| edge.length(most));
    let room = |blocks: &Blocks| vec![i64::sample(77, 123_456); blocks.end()];
    let mut allgather = around.neighbor_allgather_init(vec![0; length], room(&even_into))?;
    let mine = vec![0; of(me)];
    let mut allgatherv = around.neighbor_allgatherv_init(mine, room(&from_each), &from_each)?;
    let mut alltoall = around.neighbor_alltoall_init(room(&even_out), room(&even_into))?;
    let (send, recv) = (room(&here), room(&there));
    let mut alltoallv = around.neighbor_alltoallv_init(send, &here, recv, &there)?;
    for round in 0..3 {
        let own = |edge: Edge, length| block::<i64>(edge.from, 10 * round, length);
        let value = |edge: Edge, length| {
            let mut block = edge.block::<i64>(length);
            block.iter_mut().for_each(|value| *value ^= round as i64);
            block
        };
        let set = |place: &mut [i64], values: Vec<i64>| place.copy_from_slice(&values);
        set(allgather.send_mut(), block(me, 10 * round, length));
        set(allgatherv.send_mut(), block(me, 10 * round, of(me)));
        set(alltoall.send_mut(), laid_out(&out, &even_out, value));
        set(alltoallv.send_mut(), laid_out(&out, &here, value));
        let started = (
            allgather.start()?,
            allgatherv.start()?,
            alltoall.start()?,
            alltoallv.start()?,
        );
        alltoallv = started.3.wait()?.0;
        alltoall = started.2.wait()?.0;
        allgatherv = started.1.wait()?.0;
        allgather = started.0.wait()?.0;
        assert_eq!(allgather.recv(), laid_out(&into, &even_into, own));
        assert_eq!(allgatherv.recv(), laid_out(&into, &from_each, own));
        assert_eq!(alltoall.recv(), laid_out(&into, &even_into, value));
        assert_eq!(alltoallv.recv(), laid_out(&into, &there, value));
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn operations_that_are_prepared_once(world: Communicator) -> Result<()> {
    prepared(&grid(&world, 2, &[true; 2])?, long(9000))?;
    prepared(&grid(&world, 2, &[false, true])?, 10)?;
    prepared(&onward(&world)?, 10)?;
    prepared(&star(&world)?, 10)
}

#[ranks_test::ranks(1, 2, 3)]
fn what_does_not_fit_is_not_prepared(world: Communicator) -> Result<()> {
    let ring = grid(&world, 1, &[true])?;
    let (two, three) = (Blocks::from_counts(&[2; 2])?, Blocks::from_counts(&[2; 3])?);
    let kind = |made: Result<_>| {
        let made = made.map(|_: ranks_comm::Persistent<(Vec<u8>, Vec<u8>)>| ());
        made.unwrap_err().kind()
    };
    assert_eq!(
        kind(ring.neighbor_allgather_init(vec![1; 2], vec![1; 5])),
        ErrorKind::Length
    );
    assert_eq!(
        kind(ring.neighbor_alltoallv_init(vec![1; 4], &two, vec![1; 6], &three)),
        ErrorKind::Length
    );
    even::<i32>(&ring, 2);
    Ok(())
}

/// In numbers, as the standard draws them.
#[ranks_test::ranks(1, 2)]
fn what_goes_to_the_left_arrives_from_the_right(world: Communicator) -> Result<()> {
    let (me, other) = (world.rank(), world.size() - 1 - world.rank());
    let ring = grid(&world, 1, &[true])?;
    let (to_left, to_right) = (10 * me, 10 * me + 1);
    let from = [10 * other + 1, 10 * other];
    let mut got = [0; 2];
    ring.neighbor_alltoall(&[to_left, to_right], &mut got)?;
    assert_eq!(got, from);
    let request = ring.ineighbor_alltoall(vec![to_left, to_right], vec![0; 2])?;
    assert_eq!(request.wait()?.0.1, from);

    // Blocks of different lengths, which arrive where there is room for them.
    let lengths = Blocks::from_counts(&[1, 2])?;
    let turned = Blocks::from_counts(&[2, 1])?;
    let send = [to_left, to_right, to_right + 1];
    let from = [10 * other + 1, 10 * other + 2, 10 * other];
    let mut got = [0; 3];
    ring.neighbor_alltoallv(&send, &lengths, &mut got, &turned)?;
    assert_eq!(got, from);
    let request = ring.ineighbor_alltoallv(send.to_vec(), &lengths, vec![0; 3], &turned)?;
    assert_eq!(request.wait()?.0.1, from);
    Ok(())
}

/// A duplicate has the topology, and the same neighbours.
#[ranks_test::ranks(1, 2, 3)]
fn a_topology_that_was_asked_for(world: Communicator) -> Result<()> {
    let again = grid(&world, 1, &[true])?.dup()?;
    let topology = again.topo_test()?.expect("the duplicate has a topology");
    even::<i32>(&topology, 5);
    uneven::<i32>(&topology, 5);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn lengths_that_do_not_fit_are_refused_before_anything_is_sent(world: Communicator) -> Result<()> {
    let ring = grid(&world, 1, &[true])?;
    let length = |outcome: Result<()>| assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Length);
    let mut recv = Guarded::<i32>::new(6);
    let (two, three) = (Blocks::from_counts(&[2; 2])?, Blocks::from_counts(&[2; 3])?);
    let far = Blocks::new(&[2, 2], &[0, 5])?;
    length(ring.neighbor_allgather(&[1; 2], recv.buffer()));
    length(ring.neighbor_alltoall(&[1; 5], recv.buffer()));
    length(ring.neighbor_alltoall(&[1; 4], recv.buffer()));
    length(ring.neighbor_allgatherv(&[1; 2], recv.buffer(), &three));
    length(ring.neighbor_allgatherv(&[1; 2], recv.buffer(), &far));
    length(ring.neighbor_alltoallv(&[1; 4], &three, recv.buffer(), &two));
    length(ring.neighbor_alltoallv(&[1; 3], &two, recv.buffer(), &two));
    length(ring.neighbor_alltoallv(&[1; 4], &two, recv.buffer(), &far));
    recv.expect_untouched("calls with mistakes");

    let kind = |request: Result<_>| {
        request
            .map(|_: ranks_comm::Request<_>| ())
            .unwrap_err()
            .kind()
    };
    assert_eq!(
        kind(ring.ineighbor_allgather(vec![1; 2], vec![1; 5])),
        ErrorKind::Length
    );
    assert_eq!(
        kind(ring.ineighbor_alltoallv(vec![1; 4], &two, vec![1; 4], &three)),
        ErrorKind::Length
    );
    even::<i32>(&ring, 5);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn blocks_upon_each_other_are_not_received_into(world: Communicator) -> Result<()> {
    let ring = grid(&world, 1, &[true])?;
    let upon = Blocks::new(&[2, 2], &[0, 1])?;
    let mut recv = Guarded::<i32>::new(4);
    let apart = Blocks::from_counts(&[2, 2])?;
    let error = ring.neighbor_alltoallv(&[1; 3], &upon, recv.buffer(), &upon);
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("neighbours 0 and 1"), "{error}");
    recv.expect_untouched("overlapping blocks");
    // They may well be sent.
    ring.neighbor_alltoallv(&[7, 7, 7], &upon, recv.buffer(), &apart)?;
    recv.expect(&[7; 4], "overlapping blocks that are sent");
    Ok(())
}

/// Edges that lead to a rank which does not know of them.
#[ranks_test::ranks(2, 3, 4)]
fn graphs_that_are_not_symmetric_are_refused(world: Communicator) -> Result<()> {
    let mut index = vec![1; world.size()];
    index[0] = 1;
    let graph = world.graph_create(&index, &[1], false)?.unwrap();
    let mut recv = vec![0; graph.in_neighbors().len()];
    let error = graph.neighbor_allgather(&[1], &mut recv).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("symmetric"), "{error}");
    Ok(())
}

/// What a rank sends to itself it knows at both ends.
#[ranks_test::ranks(1)]
fn a_block_to_oneself_must_fit(world: Communicator) -> Result<()> {
    let ring = grid(&world, 1, &[true])?;
    let blocks = Blocks::from_counts(&[1, 2])?;
    let mut recv = Guarded::<i32>::new(3);
    let error = ring.neighbor_alltoallv(&[1; 3], &blocks, recv.buffer(), &blocks);
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length);
    assert!(error.to_string().contains("to itself"), "{error}");
    recv.expect_untouched("a block to oneself");
    Ok(())
}

/// Ranks that compare their calls all have one error, and go on.
#[ranks_test::ranks(2, 3, 4)]
fn lengths_that_differ_along_an_edge_are_told_to_all(world: Communicator) -> Result<()> {
    let ring = grid(&world, 1, &[false])?;
    let last = world.size() - 1;
    let longer = usize::from(world.rank() == last);
    let all_told = |outcome: Result<()>, text: &str| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    let text = format!("rank {last} sends 3 elements to its neighbour {}", last - 1);
    let length = 2 + longer;
    let mut recv = Guarded::<i32>::new(2 * length);
    all_told(
        ring.neighbor_alltoall(&vec![1; 2 * length], recv.buffer()),
        &format!("rank {} sends 2 elements to its neighbour {last}", last - 1),
    );
    all_told(
        ring.neighbor_allgather(&vec![1; length], recv.buffer()),
        "which expects",
    );
    let (sent, two) = (
        Blocks::from_counts(&[length, length])?,
        Blocks::from_counts(&[2; 2])?,
    );
    all_told(
        ring.neighbor_alltoallv(&vec![1; 2 * length], &sent, recv.buffer(), &two),
        &text,
    );
    recv.expect_untouched("calls that differ");
    let refused = ring.neighbor_allgather(&[1; 2], &mut [0; 5][longer..]);
    assert_eq!(
        refused.unwrap_err().kind(),
        if longer == 1 {
            ErrorKind::Mismatch
        } else {
            ErrorKind::Length
        }
    );
    // Where there is no neighbour no length need fit, and lengths may differ from edge to edge.
    uneven::<i32>(&ring, 5);
    Ok(())
}
