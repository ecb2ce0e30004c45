use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ranks_collectives::{
    Collectives,
    ops::{Max, Min},
};
use ranks_comm::Communicator;

#[ranks_test::ranks(1, 2, 3, 4)]
fn nobody_leaves_before_the_last_has_come(world: Communicator) {
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_micros() as u64
    };
    for late in 0..world.size() {
        if world.rank() == late {
            std::thread::sleep(Duration::from_millis(30));
        }
        let came = now();
        world.barrier().unwrap();
        let left = now();
        let (mut last_came, mut first_left) = ([0], [0]);
        world.allreduce(&[came], &mut last_came, Max).unwrap();
        world.allreduce(&[left], &mut first_left, Min).unwrap();
        assert!(
            last_came <= first_left,
            "one came at {last_came:?}, another had left at {first_left:?}"
        );
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn many_barriers_in_a_row_end(world: Communicator) {
    for _ in 0..100 {
        world.barrier().unwrap();
    }
}

#[ranks_test::ranks(2, 3, 4)]
fn barriers_of_two_communicators_do_not_mix(world: Communicator) {
    let half = world
        .split(Some((world.rank() % 2) as i32), 0)
        .unwrap()
        .unwrap();
    for round in 0..15 {
        if round % 3 == world.rank() % 3 {
            std::thread::yield_now();
        }
        half.barrier().unwrap();
        world.barrier().unwrap();
    }
}
