//! Blocks of more than 2³¹ elements, on any MPI. They take gigabytes, so they run when asked for.

use ranks_collectives::Collectives;
use ranks_collectives::ops::{Max, Sum};
use ranks_comm::Communicator;

const HUGE: usize = (1 << 31) + 17;

/// Whether all bytes are `value`; compared in blocks, because a loop over bytes takes a minute without optimisation.
fn are_all(data: &[u8], value: u8) -> bool {
    let block = [value; 1 << 16];
    data.chunks(block.len())
        .all(|chunk| *chunk == block[..chunk.len()])
}

#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 9 GB of memory"]
fn a_broadcast_of_more_than_an_int_counts(world: Communicator) {
    let mut data = vec![0_u8; HUGE];
    if world.rank() == 0 {
        data[0] = 1;
        data[HUGE / 2] = 2;
        data[HUGE - 1] = 3;
    }
    world.bcast(&mut data, 0).unwrap();
    assert_eq!(
        [data[0], data[1], data[HUGE / 2], data[HUGE - 1]],
        [1, 0, 2, 3]
    );
}

#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 14 GB of memory"]
fn a_reduction_of_more_than_an_int_counts(world: Communicator) {
    let mine = vec![world.rank() as u8 + 1; HUGE];
    let mut result = vec![0_u8; HUGE];
    world.allreduce(&mine, &mut result, Sum).unwrap();
    assert!(are_all(&result, 3));
    result.fill(0);
    world.reduce(&mine, &mut result, Max, 1).unwrap();
    assert!(world.rank() != 1 || are_all(&result, 2));
}

#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 14 GB of memory"]
fn a_gather_of_more_than_an_int_counts(world: Communicator) {
    let mine = vec![world.rank() as u8 + 1; HUGE];
    let mut all = vec![0_u8; if world.rank() == 0 { 2 * HUGE } else { 0 }];
    world.gather(&mine, &mut all, 0).unwrap();
    if world.rank() == 0 {
        assert!(are_all(&all[..HUGE], 1) && are_all(&all[HUGE..], 2));
    }
    let mut back = mine;
    back.fill(0);
    world.scatter(&all, &mut back, 0).unwrap();
    assert!(are_all(&back, world.rank() as u8 + 1));
}
