//! Nonblocking operations: owned, borrowed, many at a time.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "numbers of ranks are small"
)]

#[cfg(feature = "async")]
mod futures;
mod many;
mod scopes;
mod several;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use ranks_comm::{
    Backend, Communicator, Completed, Error, ErrorKind, Requests, Result, Runtime, Source, Tag,
};

/// Longer than what any library sends before it is received; in process all go the same way.
const LONG: usize = if cfg!(miri) { 100 } else { 100_000 };

fn neighbours(world: &Communicator) -> (usize, usize) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + size - 1) % size, (rank + 1) % size)
}

/// Returns when the rank to the right has come as far.
fn let_the_left_go_on(world: &Communicator) -> Result<()> {
    let (left, right) = neighbours(world);
    world.sendrecv(&[0u8], left, 999, &mut [0u8], right, 999)?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn owned_buffers_come_back_from_a_ring(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let receiving = world.irecv(vec![0u32; 8], left, 5)?;
    let sending = world.isend(vec![world.rank() as u32; 5].into_boxed_slice(), right, 5)?;
    let (got, status) = receiving.wait()?;
    assert_eq!(got, [vec![left as u32; 5], vec![0; 3]].concat());
    assert_eq!((status.source(), status.tag()), (Some(left), Some(5)));
    assert_eq!(status.count::<u32>()?, 5);
    let (sent, _) = sending.wait()?;
    assert_eq!(*sent, *vec![world.rank() as u32; 5]);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn shared_memory_is_sent_to_many(world: Communicator) -> Result<()> {
    let data: Arc<[f64]> = (0..1000).map(f64::from).collect();
    let sending: Vec<_> = (0..world.size())
        .map(|dest| world.isend(Arc::clone(&data), dest, 1))
        .collect::<Result<_>>()?;
    for source in 0..world.size() {
        let (got, _) = world.recv_vec::<f64>(source, 1)?;
        assert_eq!(got, *data);
    }
    for request in sending {
        request.wait()?;
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_message_of_unknown_length_makes_its_vector(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let receiving = world.irecv_vec::<u64>(left, 2)?;
    let length = 1000 * world.rank() + 1;
    let sending = world.isend(vec![world.rank() as u64; length], right, 2)?;
    let (got, status) = receiving.wait()?;
    assert_eq!(got, vec![left as u64; 1000 * left + 1]);
    assert_eq!(status.count::<u64>()?, got.len());
    sending.wait()?;
    let empty = world.irecv_vec::<u64>(left, 3)?;
    world.send::<u64>(&[], right, 3)?;
    assert_eq!(empty.wait()?.0, [0u64; 0]);
    Ok(())
}

/// The pattern of every halo exchange: on a library that matches only when it is called, both would
/// deadlock if the receives were not posted.
#[ranks_test::ranks(2, 3, 4)]
fn large_messages_cross_while_every_rank_is_in_a_send(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    for any_length in [false, true] {
        let data = vec![world.rank() as f64; 2 * LONG];
        let (got, _) = if any_length {
            let receiving = world.irecv_vec::<f64>(left, 0)?;
            world.send(&data, right, 0)?;
            receiving.wait()?
        } else {
            let receiving = world.irecv(vec![0f64; 2 * LONG], left, 0)?;
            world.send(&data, right, 0)?;
            receiving.wait()?
        };
        assert!(got.len() == 2 * LONG && got.iter().all(|&value| value == left as f64));
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn a_synchronous_send_is_over_when_it_is_received(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut sending = world.issend(vec![1u8, 2, 3], right, 0)?;
    assert!(!sending.test()? || world.size() > 1);
    let mut got = [0u8; 3];
    world.recv(&mut got, left, 0)?;
    assert_eq!(got, [1, 2, 3]);
    assert_eq!(sending.wait()?.0, [1, 2, 3]);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn isendrecv_is_one_request_for_both(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let request = world.isendrecv(vec![7i32; 3], right, 1, vec![0i32; 3], left, 1)?;
    let ((sent, got), status) = request.wait()?;
    assert_eq!((sent, got), (vec![7; 3], vec![7; 3]));
    assert_eq!(status.source(), Some(left));
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn posted_receives_are_filled_in_order(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    // Of each pair the first must get the first message, though both match it.
    let wild = world.irecv(vec![0u8; 1], left, Tag::Any)?;
    let exact = world.irecv(vec![0u8; 1], Source::Any, 4)?;
    let late = world.irecv_vec::<u8>(Source::Any, Tag::Any)?;
    let behind = world.irecv(vec![0u8; 1], left, 4)?;
    let sending: Vec<_> = (0..4u8)
        .map(|byte| world.isend(vec![byte], right, 4))
        .collect::<Result<_>>()?;
    assert_eq!(behind.wait()?.0, [3]);
    assert_eq!(late.wait()?.0, [2]);
    assert_eq!(exact.wait()?.0, [1]);
    assert_eq!(wild.wait()?.0, [0]);
    for request in sending {
        request.wait()?;
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn blocking_receives_and_probes_wait_their_turn(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let first = world.irecv_vec::<u8>(left, 9)?;
    let sending = [
        world.isend(vec![1u8], right, 9)?,
        world.isend(vec![2u8], right, 9)?,
    ];
    let status = world.probe(left, 9)?;
    assert_eq!(status.bytes(), 1);
    let mut second = [0u8];
    world.recv(&mut second, left, 9)?;
    assert_eq!((first.wait()?.0, second), (vec![1], [2]));
    assert!(world.iprobe(left, 9)?.is_none());
    for request in sending {
        request.wait()?;
    }
    Ok(())
}

/// Each message is sent when its receive was posted: of one that has arrived before, Intel's MPI
/// may report no error (see the known fault of
/// `newer::a_what_has_come_and_is_too_long_is_told_at_the_wait`).
#[ranks_test::ranks(2, 3)]
fn a_message_that_is_too_long_writes_nothing_past_the_buffer(world: Communicator) -> Result<()> {
    const CANARY: u64 = 0x5555_aaaa_5555_aaaa;
    const BEGUN: i32 = 2;
    for (room, length) in [
        (10usize, 11usize),
        (10, LONG),
        (0, 5),
        (0, LONG),
        (513, 514),
    ] {
        if world.rank() == 0 {
            let data = vec![1u64; length];
            for dest in 1..world.size() {
                for tag in 0..2 {
                    world.recv::<u8>(&mut [], dest, BEGUN)?;
                    world.send(&data, dest, tag)?;
                }
            }
        } else {
            let mut memory = vec![CANARY; room + 2 * LONG];
            let outcome: Result<()> = world.scope(|s| {
                s.irecv(&mut memory[..room], 0, 0)?;
                world.send::<u8>(&[], 0, BEGUN)
            });
            let error = outcome.expect_err("the message is too long");
            assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
            assert!(memory[room..].iter().all(|&word| word == CANARY));
            let receiving = world.irecv(vec![CANARY; room], 0, 1)?;
            world.send::<u8>(&[], 0, BEGUN)?;
            let (got, outcome) = receiving.complete()?;
            assert_eq!(outcome.expect_err("too long").kind(), ErrorKind::Truncated);
            assert_eq!(got.len(), room);
        }
    }
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn a_message_that_is_no_whole_number_of_elements_is_an_error(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    for _ in 0..3 {
        world.send(&[1u8; 9], right, 0)?;
    }
    let outcome = world.irecv(vec![0u32; 4], left, 0)?.wait();
    assert_eq!(outcome.expect_err("nine bytes").kind(), ErrorKind::Type);
    let outcome = world.irecv_vec::<u32>(left, 0)?.wait();
    assert_eq!(outcome.expect_err("nine bytes").kind(), ErrorKind::Type);
    let mut room = [0f64; 4];
    let outcome: Result<()> = world.scope(|s| s.irecv(&mut room, left, 0)?.wait().map(drop));
    assert_eq!(outcome.expect_err("nine bytes").kind(), ErrorKind::Type);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn waiting_has_a_limit(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut receiving = world.irecv(vec![0u8; 1], left, 0)?;
    assert!(!receiving.wait_timeout(Duration::from_millis(5))?);
    assert!(!receiving.test()?);
    let_the_left_go_on(&world)?;
    world.send(&[6u8], right, 0)?;
    assert!(receiving.wait_timeout(Duration::from_secs(60))?);
    assert!(receiving.test()?);
    assert_eq!(receiving.wait()?.0, [6]);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn a_receive_is_cancelled(world: Communicator) -> Result<()> {
    let mut never = world.irecv(vec![9u16; 4], Source::Any, 77)?;
    never.cancel()?;
    // On Open MPI 4.1 this was a signal.
    never.cancel()?;
    let (buffer, status) = never.wait()?;
    assert!(status.is_cancelled());
    assert_eq!(buffer, [9; 4]);
    let mut never = world.irecv_vec::<u16>(Source::Any, 77)?;
    never.cancel()?;
    assert!(never.wait()?.1.is_cancelled());
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn nobody_is_waited_for(world: Communicator) -> Result<()> {
    let nobody: Option<usize> = None;
    let (buffer, status) = world.irecv(vec![3u8; 2], nobody, 0)?.wait()?;
    assert_eq!((buffer, status.source()), (vec![3, 3], None));
    assert_eq!(world.irecv_vec::<u8>(nobody, 0)?.wait()?.0, [0u8; 0]);
    let mut borrowed = [3u8; 2];
    let source = world.scope(|s| {
        let (_, status) = s.irecv(&mut borrowed, nobody, 0)?.wait()?;
        Ok::<_, Error>(status.source())
    })?;
    assert_eq!((borrowed, source), ([3, 3], None));
    world.isend(vec![1u8], nobody, 0)?.wait()?;
    Ok(())
}

/// A library may give the context of a communicator that is freed to the next one, and pending
/// messages with it.
#[ranks_test::ranks(2, 3)]
fn what_is_under_way_on_a_dropped_communicator_goes_to_no_other(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    for round in 0..20u32 {
        let old = world.dup()?;
        drop(old.irecv(vec![0u32; 1], Source::Any, Tag::Any)?);
        old.send(&[1000 + round], right, 7)?;
        drop(old);
        let new = world.dup()?;
        let sending = new.isend(vec![round], right, 7)?;
        let mut got = [0u32];
        new.recv(&mut got, Source::Any, Tag::Any)?;
        assert_eq!(got, [round], "from {left} to {}", world.rank());
        sending.wait()?;
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn a_dropped_request_goes_on(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    drop(world.irecv(vec![0u64; LONG], left, 0)?);
    drop(world.irecv_vec::<u8>(left, 1)?);
    drop(world.isend(vec![1u64; LONG], right, 0)?);
    drop(world.isend(vec![1u8; 3], right, 1)?);
    drop(world.isend(vec![2u8; 4], right, 2)?);
    let (got, _) = world.recv_vec::<u8>(left, 2)?;
    assert_eq!(got, [2; 4]);
    // Posted without a message: cancelled with the runtime.
    drop(world.irecv(vec![0u8; 8], left, 55)?);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn what_cannot_be_begun_says_why(world: Communicator) -> Result<()> {
    let size = world.size();
    let error = world.isend(vec![1u8], size, 0).expect_err("no such rank");
    assert_eq!(error.kind(), ErrorKind::Rank);
    let error = world.irecv(vec![1u8], 0, -5).expect_err("no such tag");
    assert_eq!(error.kind(), ErrorKind::Tag);
    let error = world
        .isendrecv(vec![1u8], size, 0, vec![1u8], 0, 0)
        .expect_err("no such rank");
    assert_eq!(
        (error.kind(), error.operation()),
        (ErrorKind::Rank, "MPI_Isendrecv")
    );
    Ok(())
}
