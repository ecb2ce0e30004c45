//! Blocks of more than 2³¹ elements, on any MPI. They take gigabytes, so they run when asked for.

use ranks_collectives::Collectives;
use ranks_collectives::ops::{Max, Sum};
use ranks_comm::Communicator;

const HUGE: usize = (1 << 31) + 17;

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
    assert!(result.iter().all(|&sum| sum == 3));
    result.fill(0);
    world.reduce(&mine, &mut result, Max, 1).unwrap();
    assert!(world.rank() != 1 || result.iter().all(|&max| max == 2));
}

#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 14 GB of memory"]
fn a_gather_of_more_than_an_int_counts(world: Communicator) {
    let mine = vec![world.rank() as u8 + 1; HUGE];
    let mut all = vec![0_u8; if world.rank() == 0 { 2 * HUGE } else { 0 }];
    world.gather(&mine, &mut all, 0).unwrap();
    if world.rank() == 0 {
        assert!(all[..HUGE].iter().all(|&one| one == 1) && all[HUGE..].iter().all(|&two| two == 2));
    }
    let mut back = mine;
    back.fill(0);
    world.scatter(&all, &mut back, 0).unwrap();
    assert!(
        back.iter()
            .all(|&byte| usize::from(byte) == world.rank() + 1)
    );
}
