//! A message of more than 2³¹ bytes, on any MPI. It takes gigabytes, so it is sent on request.

use ranks_comm::{Communicator, Source};

const HUGE: usize = (1 << 31) + 5;

/// The bytes at the ends, in the middle and at the limit of an `int`.
fn marks() -> [(usize, u8); 5] {
    [
        (0, 1),
        (HUGE / 2, 2),
        ((1 << 31) - 1, 3),
        (1 << 31, 4),
        (HUGE - 1, 5),
    ]
}

#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 9 GB of memory"]
fn a_message_of_more_than_an_int_counts(world: Communicator) {
    let mut data = vec![0_u8; HUGE];
    if world.rank() == 0 {
        for (place, mark) in marks() {
            data[place] = mark;
        }
        world.send(&data, 1, 7).unwrap();
        return;
    }
    let status = world.recv(&mut data, Source::Any, 7).unwrap();
    assert_eq!(status.bytes(), HUGE);
    assert_eq!(status.count::<u8>().unwrap(), HUGE);
    for (place, mark) in marks() {
        assert_eq!(data[place], mark, "at {place}");
    }
    assert_eq!(data[1], 0);
}

#[ranks_test::ranks(2, timeout = 300)]
#[ignore = "needs 9 GB of memory"]
fn a_message_of_unknown_length_may_be_longer_than_an_int_counts(world: Communicator) {
    if world.rank() == 0 {
        let mut data = vec![0_u8; HUGE];
        data[HUGE - 1] = 5;
        world.send(&data, 1, 7).unwrap();
        return;
    }
    let (data, status) = world.recv_vec::<u8>(0, 7).unwrap();
    assert_eq!((data.len(), status.bytes()), (HUGE, HUGE));
    assert_eq!((data[0], data[HUGE - 1]), (0, 5));
}
