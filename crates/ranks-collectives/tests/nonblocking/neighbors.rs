//! Exchanges among neighbours on borrowed slices leave what the blocking ones leave.

use ranks_collectives::{
    Blocks, Layouts, NeighborCollectives, ScopedCollectives, ScopedNeighborCollectives,
    VaryingCollectives,
};
use ranks_comm::layout::Layout;
use ranks_comm::{Communicator, ErrorKind, Neighborhood, Result};

use crate::still_works;

const CANARY: u32 = 0xFEED_BEEF;

/// Elements that no other rank has.
fn cells(rank: usize, length: usize) -> Vec<u32> {
    (0..length)
        .map(|cell| (1000 * rank + cell) as u32)
        .collect()
}

/// All five on two neighbours, in one scope, started before any of them is complete.
fn as_blocking(around: &impl Neighborhood) -> Result<()> {
    let mine = cells(around.rank(), 14);
    let [send, recv] = [[1, 3], [3, 1]].map(|counts| Blocks::new(&counts, &[8, 2]).unwrap());
    let two = Layout::vector(2, 1, 3);
    let layouts = |first: usize| Layouts::new([first, 13 - 3 - first].map(|start| two.at(start)));
    let (here, there) = (layouts(0), layouts(6));
    let room = || vec![CANARY; 14];

    let mut once = [(); 5].map(|()| room());
    around.neighbor_allgather(&mine[..7], &mut once[0])?;
    around.neighbor_allgatherv(&mine[..2], &mut once[1], &Blocks::new(&[2, 2], &[9, 0])?)?;
    around.neighbor_alltoall(&mine, &mut once[2])?;
    around.neighbor_alltoallv(&mine, &send, &mut once[3], &recv)?;
    around.neighbor_alltoallw(&mine, &here, &mut once[4], &there)?;

    let mut lent = [(); 5].map(|()| room());
    let [a, b, c, d, e] = &mut lent;
    around.scope(|s| {
        s.ineighbor_allgather(around, &mine[..7], a)?;
        let blocks = Blocks::new(&[2, 2], &[9, 0])?;
        s.ineighbor_allgatherv(around, &mine[..2], b, &blocks)?;
        s.ineighbor_alltoall(around, &mine, c)?;
        let request = s.ineighbor_alltoallv(around, &mine, &send, d, &recv)?;
        s.ineighbor_alltoallw(around, &mine, &here, e, &there)?;
        // What is waited for is there before the scope ends.
        let (received, _) = request.wait()?;
        assert_eq!(*received, once[3]);
        Ok::<_, ranks_comm::Error>(())
    })?;
    assert_eq!(lent, once);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn borrowed_exchanges_in_a_ring_leave_what_blocking_ones_leave(world: Communicator) -> Result<()> {
    let ring = world.cart_create(&[world.size()], &[true], false)?;
    as_blocking(&ring.expect("all ranks are in the ring"))?;
    // At the border of a row a neighbour is missing, and its block stays as it is.
    let row = world.cart_create(&[world.size()], &[false], false)?;
    as_blocking(&row.expect("all ranks are in the row"))?;
    still_works(&world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn borrowed_parts_are_exchanged_among_all(world: Communicator) -> Result<()> {
    let size = world.size();
    let mine = cells(world.rank(), 2 * size);
    let each = |start: usize| {
        Layouts::new((0..size).map(|rank| Layout::vector(2, 1, size).at(start + rank)))
    };
    let pairs = Layouts::new((0..size).map(|rank| Layout::contiguous(2).at(2 * rank)));
    let (mut once, mut lent) = (vec![CANARY; 2 * size], vec![CANARY; 2 * size]);
    world.alltoallw(&mine, &each(0), &mut once, &pairs)?;
    world.scope(|s| s.ialltoallw(&mine, &each(0), &mut lent, &pairs).map(drop))?;
    assert_eq!(lent, once);
    still_works(&world)
}

/// The lengths follow from the neighbours, so that no other communicator will do.
#[ranks_test::ranks(1, 2, 3, 4)]
fn a_scope_of_another_communicator_is_refused(world: Communicator) -> Result<()> {
    let ring = world.cart_create(&[world.size()], &[true], false)?;
    let ring = ring.expect("all ranks are in the ring");
    let mine = cells(world.rank(), 2);
    for other in [world.clone(), ring.dup()?] {
        let mut room = vec![CANARY; 2];
        let refused = other.scope(|s| s.ineighbor_alltoall(&ring, &mine, &mut room).map(drop));
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        assert_eq!(error.operation(), "MPI_Ineighbor_alltoall");
        assert_eq!(room, [CANARY; 2]);
    }
    still_works(&world)
}
