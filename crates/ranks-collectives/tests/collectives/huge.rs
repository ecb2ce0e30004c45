//! Blocks of more than 2³¹ elements, on any MPI. They take gigabytes, so they run when asked for.

use ranks_collectives::ops::{Max, Sum};
use ranks_collectives::{Blocks, Collectives, VaryingCollectives};
use ranks_comm::{Buffer, Communicator};

const HUGE: usize = (1 << 31) + 17;

/// On huge pages where there are any: to touch as many small ones takes seconds.
fn filled(value: u8, length: usize) -> Buffer<u8> {
    let mut buffer = Buffer::zeroed(length);
    if value != 0 {
        buffer.fill(value);
    }
    buffer
}

/// Returns `true` if all bytes are `value`; compared in blocks, because a loop over bytes takes a
/// minute without optimisation.
fn are_all(data: &[u8], value: u8) -> bool {
    let block = [value; 1 << 16];
    data.chunks(block.len())
        .all(|chunk| *chunk == block[..chunk.len()])
}

#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 9 GB of memory"]
fn a_broadcast_of_more_than_an_int_counts(world: Communicator) {
    let mut data = filled(0, HUGE);
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
    let mine = filled(world.rank() as u8 + 1, HUGE);
    let mut result = filled(0, HUGE);
    world.allreduce(&mine, &mut result, Sum).unwrap();
    assert!(are_all(&result, 3));
    // The sums are no maxima: they need not be wiped out first.
    world.reduce(&mine, &mut result, Max, 1).unwrap();
    assert!(world.rank() != 1 || are_all(&result, 2));
}

#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 14 GB of memory"]
fn a_gather_of_more_than_an_int_counts(world: Communicator) {
    let mine = filled(world.rank() as u8 + 1, HUGE);
    let mut all = filled(0, if world.rank() == 0 { 2 * HUGE } else { 0 });
    world.gather(&mine, &mut all, 0).unwrap();
    if world.rank() == 0 {
        assert!(are_all(&all[..HUGE], 1) && are_all(&all[HUGE..], 2));
    }
    let mut back = mine;
    back.fill(0);
    world.scatter(&all, &mut back, 0).unwrap();
    assert!(are_all(&back, world.rank() as u8 + 1));
}

#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 10 GB of memory"]
fn blocks_of_more_than_an_int_counts_together(world: Communicator) {
    let (me, counts) = (world.rank(), [HUGE / 2 + 3, HUGE / 2 - 1]);
    // In the opposite order, with a gap that stays as it is.
    let blocks = Blocks::new(&counts, &[counts[1] + 5, 0]).unwrap();
    let mut mine = filled(me as u8 + 1, counts[me]);
    let mut all = filled(0, blocks.end());
    let are_there = |all: &[u8]| {
        let gap = &all[counts[1]..counts[1] + 5];
        are_all(&all[blocks.range(0)], 1) && are_all(&all[blocks.range(1)], 2) && are_all(gap, 0)
    };
    world.allgatherv_into(&mine, &mut all, &blocks).unwrap();
    assert!(are_there(&all));
    mine.fill(0);
    let send = if me == 1 { &all[..] } else { &[] };
    world.scatterv_into(send, &blocks, &mut mine, 1).unwrap();
    assert!(are_all(&mine, me as u8 + 1));
    all[blocks.range(1 - me)].fill(0);
    world.allgatherv_in_place(&mut all, &blocks).unwrap();
    assert!(are_there(&all));
    all.fill(0);
    world.gatherv_into(&mine, &mut all, &blocks, 0).unwrap();
    assert!(me != 0 || are_there(&all));
}

#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 14 GB of memory"]
fn shares_of_more_than_an_int_counts_together(world: Communicator) {
    let me = world.rank();
    let half = HUGE / 2;
    let mine = filled(me as u8 + 1, 2 * half);
    let blocks = Blocks::from_counts(&[half + 2, half - 2]).unwrap();
    let mut room = filled(0, half + 2);
    let share = &mut room[..half];
    world.reduce_scatter_block(&mine, share, Sum).unwrap();
    assert!(are_all(share, 3));
    // The sums are no maxima: they need not be wiped out first.
    let share = &mut room[..blocks.counts()[me]];
    world.reduce_scatter(&mine, share, &blocks, Max).unwrap();
    assert!(are_all(share, 2));
}
