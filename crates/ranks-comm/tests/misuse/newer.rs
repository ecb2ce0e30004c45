//! Faults of a newer binding.

use std::sync::Barrier;
use std::time::Duration;

use ranks_comm::{
    Backend, Communicator, Error, ErrorKind, Result, Runtime, Source, Tag, ThreadLevel,
};

use crate::neighbours;

/// A: canaries behind the buffer of a receive, for messages that libraries copy eagerly, in one
/// piece, and in several.
#[ranks_test::ranks(2, 3)]
fn a_nothing_is_written_behind_a_receive(world: Communicator) -> Result<()> {
    const CANARY: u64 = 0x5a5a_a5a5_0f0f_f0f0;
    let (left, right) = neighbours(&world);
    for length in [20usize, 6_000, 600_000] {
        let room = length / 2;
        for late in [false, true] {
            let mut memory = vec![CANARY; 2 * length];
            let data = vec![1u64; length];
            let outcome: Result<()> = world.scope(|s| {
                let (front, _) = memory.split_at_mut(room);
                let sending = if late {
                    Some(s.isend(&data, right, 0)?)
                } else {
                    None
                };
                let receiving = s.irecv(front, left, 0)?;
                if sending.is_none() {
                    s.isend(&data, right, 0)?;
                }
                receiving.wait().map(drop)
            });
            assert_eq!(outcome.expect_err("too long").kind(), ErrorKind::Truncated);
            assert!(memory[room..].iter().all(|&word| word == CANARY));
            let mut owned = Vec::with_capacity(length);
            owned.resize(room, CANARY);
            let receiving = world.irecv(owned, left, 1)?;
            let sending = world.isend(data, right, 1)?;
            let (_, outcome) = receiving.complete()?;
            assert_eq!(outcome.expect_err("too long").kind(), ErrorKind::Truncated);
            sending.wait()?;
        }
    }
    Ok(())
}

/// A: the same of a message that has arrived when the receive starts; some libraries report it
/// immediately.
#[ranks_test::ranks(2, 3)]
fn a_what_has_come_and_is_too_long_is_told_at_the_wait(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    for length in [20usize, 600_000] {
        let sending = world.isend(vec![1u64; length], right, 0)?;
        world.probe(left, 0)?;
        let receiving = world.irecv(vec![7u64; 10], left, 0)?;
        let (buffer, outcome) = receiving.complete()?;
        assert_eq!(outcome.expect_err("too long").kind(), ErrorKind::Truncated);
        assert_eq!(buffer.len(), 10);
        sending.wait()?;
    }
    Ok(())
}

/// C: the text of an error is as long as the library wants.
#[ranks_test::ranks(2)]
fn c_long_texts_of_errors_are_taken(world: Communicator) -> Result<()> {
    let peer = 1 - world.rank();
    let receiving = world.irecv(vec![0u8; 1], peer, 0)?;
    world.send(&[1u8; 100_000], peer, 0)?;
    let error = receiving.wait().expect_err("too long");
    assert!(error.to_string().contains("message truncated"), "{error}");
    Ok(())
}

/// D: a scope that ends while another thread is inside a call, where the level allows one at a
/// time, keeps its memory until it may enter.
#[test]
fn d_a_scope_that_is_not_let_in_keeps_its_memory() {
    let inside = Barrier::new(2);
    Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(2)
        .thread_level(ThreadLevel::Serialized)
        .run(|world| {
            if world.rank() == 1 {
                inside.wait();
                // So long that the other's scope has ended, most likely.
                std::thread::sleep(Duration::from_millis(30));
                world.send(&[1u8], 0, 0)?;
                return world.send(&[2u8], 0, 9);
            }
            let mut room = [7u8];
            let world = &world;
            let outcome: Result<()> = std::thread::scope(|threads| {
                world.scope(|s| {
                    s.irecv(&mut room, 1, 9)?;
                    threads.spawn(|| while world.recv(&mut [0u8], 1, 0).is_err() {});
                    while world.iprobe(1, 1).is_ok() {}
                    inside.wait();
                    Ok(())
                })
            });
            match outcome {
                Ok(()) => assert_eq!(room, [2]),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WrongThread);
                    // The message came before the receive was cancelled, or it can still be
                    // received.
                    if room != [2] {
                        assert_eq!(world.recv_vec::<u8>(1, 9)?.0, [2]);
                    }
                }
            }
            Ok::<(), Error>(())
        })
        .unwrap();
}

/// J: any number of communicators, each with a pending operation.
#[ranks_test::ranks(2)]
fn j_hundreds_of_communicators_with_requests(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let comms: Vec<_> = (0..300).map(|_| world.dup()).collect::<Result<_>>()?;
    let receiving: Vec<_> = comms
        .iter()
        .map(|comm| comm.irecv(vec![0u32; 1], left, Tag::Any))
        .collect::<Result<_>>()?;
    let mut sending = Vec::new();
    for (number, comm) in comms.iter().enumerate().rev() {
        sending.push(comm.isend(vec![number as u32], right, 0)?);
    }
    // A request keeps its communicator.
    drop(comms);
    for (number, request) in receiving.into_iter().enumerate() {
        assert_eq!(request.wait()?.0, [number as u32]);
    }
    for request in sending {
        request.wait()?;
    }
    Ok(())
}

/// M: an object that is dropped with pending operations, and by another thread, neither blocks nor
/// aborts.
#[ranks_test::ranks(1, 2, 3)]
fn m_handles_are_dropped_by_any_thread(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let own = world.dup()?;
    let receiving = own.irecv_vec::<u64>(left, 0)?;
    let never = own.irecv(vec![0u64; 3], Source::Any, 1)?;
    std::thread::spawn(move || drop((own, receiving, never)))
        .join()
        .expect("no panic");
    let receiving = world.irecv(vec![0u8; 3], left, 0)?;
    world.isend(vec![1u8; 3], right, 0)?.wait()?;
    assert_eq!(receiving.wait()?.0, [1; 3]);
    Ok(())
}

/// N: a loop with two buffers, owned ones; `two_buffers_take_turns_in_one_scope` has it with
/// borrowed ones.
#[ranks_test::ranks(1, 2, 3)]
fn n_owned_buffers_take_turns(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let (mut idle, mut sum) = (vec![0u32; 100].into_boxed_slice(), 0);
    let mut arriving = world.irecv(vec![0u32; 100].into_boxed_slice(), left, 0)?;
    let mut own = vec![0u32; 100];
    for step in 0..30u32 {
        let next = world.irecv(idle, left, 0)?;
        own.fill(step);
        let sending = world.isend(own, right, 0)?;
        idle = std::mem::replace(&mut arriving, next).wait()?.0;
        sum += idle.iter().sum::<u32>();
        own = sending.wait()?.0;
    }
    arriving.cancel()?;
    assert!(arriving.wait()?.1.is_cancelled());
    assert_eq!(sum, 100 * (29 * 30 / 2));
    Ok(())
}

/// N: the closure of a scope has an error of its own.
#[ranks_test::ranks(1, 2)]
fn n_a_scope_returns_any_error_and_ends_what_it_began(world: Communicator) -> Result<()> {
    #[derive(Debug)]
    enum Own {
        Comm(Error),
        NoConvergence,
    }
    impl From<Error> for Own {
        fn from(error: Error) -> Self {
            Self::Comm(error)
        }
    }
    let mut room = [1u64; 100];
    let outcome: Result<(), Own> = world.scope(|s| {
        // Nobody sends this: it is cancelled by the error.
        s.irecv(&mut room, Source::Any, 77)?;
        Err(Own::NoConvergence)
    });
    match outcome {
        Err(Own::NoConvergence) => assert_eq!(room, [1; 100]),
        Err(Own::Comm(error)) => return Err(error),
        Ok(()) => panic!("there was an error"),
    }
    Ok(())
}

/// S (of the newer list): a matched message that is dropped is lost, and its sender goes on.
#[ranks_test::ranks(1, 2, 3)]
fn s_a_matched_message_is_dropped(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    for (tag, length) in [(0, 0usize), (1, 3), (2, 300_001)] {
        let sending = world.issend(vec![1u8; length], right, tag)?;
        drop(world.mprobe(left, tag)?);
        sending.wait()?;
        assert!(world.iprobe(left, tag)?.is_none());
    }
    Ok(())
}

/// T: a lower level than required is an error at the start, and the granted level can be read.
#[test]
fn t_a_thread_level_is_seen() {
    let runtime = Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(1)
        .thread_level(ThreadLevel::Serialized)
        .init()
        .unwrap();
    assert_eq!(runtime.facts().thread_level(), ThreadLevel::Serialized);
    runtime.finalize().unwrap();
}

/// Receives into new memory wait their turn with those of the other kinds: buffers, layouts.
#[ranks_test::ranks(1, 2, 3)]
fn every_kind_of_receive_waits_its_turn(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let first = world.irecv_vec::<u8>(left, 0)?;
    let sending: Vec<_> = (0..2u8)
        .map(|byte| world.isend(vec![byte], right, 0))
        .collect::<Result<_>>()?;
    let (second, _) = world.recv_buffer::<u8>(left, 0)?;
    assert_eq!((&*second, first.wait()?.0), (&[1u8][..], vec![0]));
    for request in sending {
        request.wait()?;
    }
    Ok(())
}
