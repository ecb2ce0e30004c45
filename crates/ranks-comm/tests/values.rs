//! Receives into new memory: buffers of the message's length, and values of any type.
#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers of ranks are small"
)]

use ranks_comm::{Buffer, Communicator, ErrorKind, Result, Source};

fn neighbours(world: &Communicator) -> (usize, usize) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + 1) % size, (rank + size - 1) % size)
}

/// The elements that `rank` sends: no two ranks, and no two places, have the same.
fn field(rank: usize, length: usize) -> Buffer<u64> {
    Buffer::from_fn(length, |i| (rank * 1_000_000 + i) as u64)
}

/// Lengths from zero to memory on huge pages.
const LENGTHS: [usize; 6] = if cfg!(miri) {
    [0, 1, 7, 20, 100, 300]
} else {
    [0, 1, 7, 1000, 100_000, 300_000]
};

#[ranks_test::ranks(1, 2, 3, 4)]
fn buffers_are_sent_and_received_as_slices_are(world: Communicator) -> Result<()> {
    let (right, left) = neighbours(&world);
    for length in LENGTHS {
        let mine = field(world.rank(), length);
        let mut theirs = Buffer::<u64>::zeroed(length + 3);
        let status = world.sendrecv(&mine, right, 3, &mut theirs, left, 3)?;
        assert_eq!(status.count::<u64>()?, length);
        assert_eq!(theirs[..length], *field(left, length));
        assert_eq!(theirs[length..], [0; 3]);
    }
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn a_message_is_received_into_a_new_buffer(world: Communicator) -> Result<()> {
    let (right, left) = neighbours(&world);
    for length in LENGTHS {
        for claimed in [false, true] {
            let receive = || {
                if claimed {
                    world.mprobe(left, 4)?.recv_buffer::<u64>()
                } else {
                    world.recv_buffer::<u64>(left, 4)
                }
            };
            // Large messages wait for their receiver, so not all may send first.
            let mine = field(world.rank(), length);
            let (theirs, status) = if world.rank() == 0 {
                world.send(&mine, right, 4)?;
                receive()?
            } else {
                let received = receive()?;
                world.send(&mine, right, 4)?;
                received
            };
            assert_eq!(theirs, field(left, length));
            assert_eq!((status.source(), status.tag()), (Some(left), Some(4)));
            assert_eq!(status.count::<u64>()?, length);
            if length > 0 {
                assert_eq!(theirs.as_ptr().addr() % 64, 0);
            }
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn nobody_sends_an_empty_buffer(world: Communicator) -> Result<()> {
    let (nothing, status) = world.recv_buffer::<f64>(Source::Null, 0)?;
    assert_eq!(nothing, []);
    assert_eq!(status.source(), None);
    let (nothing, _) = world.mprobe(Source::Null, 0)?.recv_buffer::<f64>()?;
    assert_eq!(nothing, []);
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn a_message_that_is_no_whole_number_of_elements_is_gone(world: Communicator) -> Result<()> {
    if world.rank() == 0 {
        world.send(&[1u8, 2, 3], 1, 5)?;
        world.send(&[1u32], 1, 5)?;
    } else if world.rank() == 1 {
        let error = world.recv_buffer::<u32>(0, 5).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Type);
        let (next, _) = world.recv_buffer::<u32>(0, 5)?;
        assert_eq!(next, [1]);
    }
    Ok(())
}

#[cfg(feature = "serde")]
mod serialised {
    use std::collections::BTreeMap;

    use ranks_comm::{Communicator, ErrorKind, Result, Source};
    use serde::{Deserialize, Serialize, Serializer};

    use super::neighbours;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    enum Task {
        Nothing,
        Solve {
            name: String,
            weights: Vec<f64>,
            options: BTreeMap<String, Option<i64>>,
        },
        Both(Box<Task>, Box<Task>),
    }

    /// The task that `rank` sends; the larger `size`, the more.
    fn task(rank: usize, size: usize) -> Task {
        let solve = Task::Solve {
            name: format!("task of rank {rank}, ä"),
            weights: (0..size).map(|i| (rank + i) as f64 / 3.0).collect(),
            options: (0..size % 100)
                .map(|i| (i.to_string(), (i % 2 == 0).then_some(-(i as i64))))
                .collect(),
        };
        Task::Both(Box::new(Task::Nothing), Box::new(solve))
    }

    #[ranks_test::ranks(2, 3, 4)]
    fn a_value_arrives_as_it_was(world: Communicator) -> Result<()> {
        let (right, left) = neighbours(&world);
        for size in [0, 3, if cfg!(miri) { 20 } else { 20_000 }] {
            let receive = || {
                let (theirs, status) = world.recv_value::<Task>(left, 6)?;
                assert_eq!(theirs, task(left, size));
                assert_eq!((status.source(), status.tag()), (Some(left), Some(6)));
                Result::Ok(())
            };
            if world.rank() == 0 {
                world.send_value(&task(0, size), right, 6)?;
                receive()?;
            } else {
                receive()?;
                world.send_value(&task(world.rank(), size), right, 6)?;
            }
        }
        Ok(())
    }

    #[ranks_test::ranks(2, 3)]
    fn bytes_that_are_no_value_are_an_error_and_gone(world: Communicator) -> Result<()> {
        if world.rank() == 0 {
            // The variant 200, of three.
            world.send(&[200u8, 1], 1, 7)?;
            world.send_value(&(1u8, 2u8), 1, 7)?;
            world.send_value("the last", 1, 7)?;
        } else if world.rank() == 1 {
            let error = world.recv_value::<Task>(0, 7).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Value);
            let text = error.to_string();
            assert!(text.contains("rank 0 with tag 7"), "{text}");
            let error = world.mprobe(0, 7)?.recv_value::<u8>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Value);
            let (last, _) = world.mprobe(0, 7)?.recv_value::<String>()?;
            assert_eq!(last, "the last");
        }
        Ok(())
    }

    /// Refuses to be serialised.
    struct Refuses;

    impl Serialize for Refuses {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("not today"))
        }
    }

    #[ranks_test::ranks(1, 2)]
    fn a_value_that_refuses_is_an_error_and_nothing_is_sent(world: Communicator) -> Result<()> {
        if world.rank() == 0 {
            let dest = world.size() - 1;
            let error = world.send_value(&Refuses, dest, 8).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Value);
            assert!(error.to_string().contains("Refuses"), "{error}");
            if dest > 0 {
                world.send_value(&1u8, dest, 8)?;
            }
        } else {
            // The message that is sent next is the first to arrive.
            assert_eq!(world.recv_value::<u8>(0, 8)?.0, 1);
        }
        Ok(())
    }

    #[ranks_test::ranks(1)]
    fn nobody_sends_no_value(world: Communicator) -> Result<()> {
        let error = world.recv_value::<u8>(Source::Null, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value);
        world.recv_value::<()>(Source::Null, 0)?;
        Ok(())
    }
}
