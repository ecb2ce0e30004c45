//! Modes of sending, and persistent operations.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "numbers of ranks are small"
)]

mod partitioned;

use std::sync::Arc;
use std::time::Duration;

use ranks_comm::layout::View;
use ranks_comm::{
    Active, BSEND_OVERHEAD, Buffer, Communicator, Destination, ErrorKind, Persistent, Result,
    Source, Tag,
};

fn neighbours(world: &Communicator) -> (usize, usize) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + size - 1) % size, (rank + 1) % size)
}

#[test]
fn requests_cross_threads() {
    fn crosses<T: Send>() {}
    crosses::<Persistent<Vec<f64>>>();
    crosses::<Active<Vec<f64>>>();
    assert_eq!(size_of::<Persistent<Vec<f64>>>(), size_of::<usize>());
}

/// As rsmpi's example `ready_send`: 1.0 to the neighbour, which has posted its receive before a
/// barrier.
#[ranks_test::ranks(2, 3, 4)]
fn rsmpi_ready_send(world: Communicator) -> Result<()> {
    let rank = world.rank();
    if rank > 0 {
        let receiving = world.irecv(vec![0.0f64; 1], rank - 1, 0)?;
        world.send::<u8>(&[], rank - 1, 1)?;
        let (got, status) = receiving.wait()?;
        assert_eq!((got, status.source()), (vec![1.0], Some(rank - 1)));
    }
    if rank + 1 < world.size() {
        world.recv::<u8>(&mut [], rank + 1, 1)?;
        // SAFETY: that rank has said that it has posted its receive into a buffer.
        unsafe { world.rsend(&[1.0f64], rank + 1, 0)? };
    }
    Ok(())
}

/// As rsmpi's example `buffered`: 100 numbers to oneself through a buffer that comes back as it was
/// attached.
#[ranks_test::ranks(1, 2, 3, 4)]
fn rsmpi_buffered(world: Communicator) -> Result<()> {
    let data: Vec<u32> = (0..100).map(|i| i * i).collect();
    let room = world.pack_size(&View::whole(&data))? + BSEND_OVERHEAD;
    let buffer = vec![0; room];
    let address = buffer.as_ptr();
    let attached = world.buffer_attach(buffer)?;
    world.bsend(&data, world.rank(), 0)?;
    assert_eq!(world.recv_vec::<u32>(world.rank(), 0)?.0, data);
    let buffer = attached.detach()?;
    assert_eq!((buffer.as_ptr(), buffer.len()), (address, room));
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn buffered_sends_do_not_wait_for_the_receiver(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let data = vec![world.rank() as u64; 50_000];
    let room = 2 * (size_of_val(&data[..]) + BSEND_OVERHEAD);
    let attached = world.buffer_attach(vec![0; room])?;
    world.bsend(&data, right, 3)?;
    let (data, _) = world.ibsend(data, right, 4)?.wait()?;
    for tag in [4, 3] {
        let (got, _) = world.recv_vec::<u64>(left, tag)?;
        assert_eq!(got, vec![left as u64; data.len()]);
    }
    assert_eq!(attached.detach()?.len(), room);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn a_buffered_send_needs_room(world: Communicator) -> Result<()> {
    let me = world.rank();
    assert!(world.bsend(&[1u8], me, 0).is_err(), "nothing is attached");
    let attached = world.buffer_attach(vec![0; 100 + BSEND_OVERHEAD])?;
    assert!(world.bsend(&[1u8; 5000], me, 0).is_err(), "it does not fit");
    world.bsend(&[2u8; 100], me, 0)?;
    assert_eq!(world.recv_vec::<u8>(me, 0)?.0, [2; 100]);
    attached.detach()?;
    assert!(world.bsend(&[1u8], me, 0).is_err(), "it was detached");
    assert!(world.iprobe(Source::Any, Tag::Any)?.is_none());
    Ok(())
}

/// Open MPI loses count of the messages to a rank when one of them is refused for want of room, and
/// delivers none of the later ones.
#[ranks_test::ranks(1, 2, 3)]
fn a_persistent_buffered_send_without_room_stopped_later_messages(
    world: Communicator,
) -> Result<()> {
    let (left, right) = neighbours(&world);
    let attached = world.buffer_attach(vec![0; 100 + BSEND_OVERHEAD])?;
    let too_large = world.bsend_init(vec![5_u8; 100_000], right, 3)?;
    let error = too_large.start().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    let request = world.isend(vec![7_u8; 5000], right, 4)?;
    assert_eq!(world.recv_vec::<u8>(left, 4)?.0, vec![7; 5000]);
    request.wait()?;
    attached.detach()?;
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn one_buffer_is_attached_at_a_time(world: Communicator) -> Result<()> {
    let me = world.rank();
    let short = world.buffer_attach(vec![0; 8]).unwrap_err();
    assert_eq!(short.kind(), ErrorKind::Length);
    let attached = world.buffer_attach(vec![0; 4096])?;
    let second = world.buffer_attach(vec![0; 4096]).unwrap_err();
    assert_eq!(second.kind(), ErrorKind::Argument);
    assert!(second.to_string().starts_with("MPI_Buffer_attach: "));
    // Dropped with a message in it: the runtime keeps it, and the message is sent all the same.
    world.bsend(&[me as u32; 10], me, 1)?;
    drop(attached);
    assert_eq!(world.recv_vec::<u32>(me, 1)?.0, vec![me as u32; 10]);
    let next = world.buffer_attach(vec![0; 4096])?;
    world.bsend(&[7u8], me, 2)?;
    assert_eq!(world.recv_vec::<u8>(me, 2)?.0, [7]);
    // A buffer that is left at the end is detached then.
    drop(next);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_ring_is_prepared_once(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut receiving = world.recv_init(vec![0u32; 8], left, 5)?;
    let mut sending = world.send_init(vec![0u32; 5].into_boxed_slice(), right, 5)?;
    for step in 0..20u32 {
        sending.buffer_mut().fill(step * 100 + world.rank() as u32);
        let (to_come, to_go) = (receiving.start()?, sending.start()?);
        let status;
        (receiving, status) = to_come.wait()?;
        (sending, _) = to_go.wait()?;
        let want = [vec![step * 100 + left as u32; 5], vec![0; 3]].concat();
        assert_eq!(receiving.buffer(), want);
        assert_eq!((status.source(), status.tag()), (Some(left), Some(5)));
        assert_eq!(status.count::<u32>()?, 5);
        assert_eq!(receiving.status().bytes(), 20);
    }
    assert_eq!(sending.free()?.len(), 5);
    assert_eq!(receiving.free()?.len(), 8);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn every_mode_can_be_prepared(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let attached = world.buffer_attach(vec![0; 4 * (64 + BSEND_OVERHEAD)])?;
    let mut synchronous = world.ssend_init(Arc::<[u16]>::from([1, 2, 3]), right, 1)?;
    let mut buffered = world.bsend_init(Buffer::from(&[4u16, 5][..]), right, 2)?;
    // SAFETY: started below when the receiver has said that it waits.
    let mut ready = unsafe { world.rsend_init(vec![6u16], right, 3)? };
    let mut into: Vec<Persistent<Vec<u16>>> = [(3, 1), (2, 2), (1, 3)]
        .into_iter()
        .map(|(length, tag)| world.recv_init(vec![0; length], left, tag))
        .collect::<Result<_>>()?;
    for _ in 0..3 {
        let active = Persistent::start_all(into)?;
        world.sendrecv(&[0u8], left, 9, &mut [0u8], right, 9)?;
        let (a, b, c) = (synchronous.start()?, buffered.start()?, ready.start()?);
        into = Active::wait_all(active)?;
        (synchronous, _) = a.wait()?;
        (buffered, _) = b.wait()?;
        (ready, _) = c.wait()?;
        let got: Vec<&[u16]> = into.iter().map(Persistent::buffer).collect();
        assert_eq!(got, [&[1, 2, 3][..], &[4, 5], &[6]]);
        let tags: Vec<_> = into.iter().map(|one| one.status().tag()).collect();
        assert_eq!(tags, [Some(1), Some(2), Some(3)]);
        for one in &mut into {
            one.buffer_mut().fill(0);
        }
    }
    drop((synchronous, buffered, ready));
    attached.detach()?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn many_are_started_and_waited_for_together(world: Communicator) -> Result<()> {
    const MANY: usize = if cfg!(miri) { 10 } else { 150 };
    let (left, right) = neighbours(&world);
    let mut into = (0..MANY)
        .map(|tag| world.recv_init(vec![0u64; 4], left, tag as i32))
        .collect::<Result<Vec<_>>>()?;
    let mut from = (0..MANY)
        .map(|tag| world.send_init(vec![tag as u64; 4], right, tag as i32))
        .collect::<Result<Vec<_>>>()?;
    for round in 1..4u64 {
        for one in &mut from {
            one.buffer_mut()[0] = round;
        }
        let (to_come, to_go) = (Persistent::start_all(into)?, Persistent::start_all(from)?);
        from = Active::wait_all(to_go)?;
        into = Active::wait_all(to_come)?;
        for (tag, one) in into.iter().enumerate() {
            let tag = tag as u64;
            assert_eq!(one.buffer(), [round, tag, tag, tag]);
            let status = one.status();
            assert_eq!(
                (status.source(), status.tag()),
                (Some(left), Some(tag as i32))
            );
            assert_eq!(status.count::<u64>()?, 4);
        }
    }
    assert!(Persistent::<Vec<u8>>::start_all(Vec::new())?.is_empty());
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn many_of_different_lengths_have_their_own_statuses(world: Communicator) -> Result<()> {
    const MANY: usize = 130;
    let (left, right) = neighbours(&world);
    // Every eleventh has room for nothing.
    let length = |tag: usize| tag % 11;
    let into = (0..MANY)
        .map(|tag| world.recv_init(vec![0u32; length(tag)], left, tag as i32))
        .collect::<Result<Vec<_>>>()?;
    let from = (0..MANY)
        .map(|tag| world.send_init(vec![tag as u32; length(tag)], right, tag as i32))
        .collect::<Result<Vec<_>>>()?;
    let (to_come, to_go) = (Persistent::start_all(into)?, Persistent::start_all(from)?);
    let into = Active::wait_all(to_come)?;
    for (tag, one) in into.iter().enumerate() {
        assert_eq!(one.buffer(), vec![tag as u32; length(tag)]);
        let status = one.status();
        assert_eq!(
            (status.tag(), status.count::<u32>()?),
            (Some(tag as i32), length(tag))
        );
    }
    Active::wait_all(to_go)?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn one_of_many_that_fails_is_told_and_all_are_over(world: Communicator) -> Result<()> {
    const MANY: usize = 100;
    let (left, right) = neighbours(&world);
    for too_long in [0, 71, MANY] {
        let length = |tag: usize| tag % 5;
        let into = (0..MANY)
            .map(|tag| world.recv_init(vec![0u32; length(tag)], left, tag as i32))
            .collect::<Result<Vec<_>>>()?;
        let to_come = Persistent::start_all(into)?;
        let from = (0..MANY)
            .map(|tag| {
                let more = if tag == too_long { 4 } else { 0 };
                world.send_init(vec![1u32; length(tag) + more], right, tag as i32)
            })
            .collect::<Result<Vec<_>>>()?;
        let to_go = Persistent::start_all(from)?;
        match Active::wait_all(to_come) {
            Ok(all) => assert_eq!((too_long, all.len()), (MANY, MANY)),
            Err(error) => assert_eq!(
                (error.kind(), too_long < MANY),
                (ErrorKind::Truncated, true),
                "{error}"
            ),
        }
        Active::wait_all(to_go)?;
        // Every message was received; the next round begins only then.
        for tag in 0..MANY {
            assert!(world.iprobe(left, tag as i32)?.is_none());
        }
        world.sendrecv(&[0u8], left, 999, &mut [0u8], right, 999)?;
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn nobody_and_nothing_can_be_prepared(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let nobody = world.recv_init(vec![7u8; 2], Source::Null, Tag::Any)?;
    let to_nobody = world.send_init(vec![7u8; 2], Destination::Null, 0)?;
    let nothing = world.recv_init(Vec::<u8>::new(), left, 4)?;
    let of_nothing = world.send_init(Vec::<u8>::new(), right, 4)?;
    let all = vec![nobody, to_nobody, nothing, of_nothing];
    let all = Active::wait_all(Persistent::start_all(all)?)?;
    assert_eq!(all[0].status().source(), None);
    assert_eq!((all[0].buffer(), all[2].status().bytes()), (&[7, 7][..], 0));
    assert_eq!(all[2].status().source(), Some(left));
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn a_message_that_is_too_long_is_an_error_and_the_request_lives_on(
    world: Communicator,
) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut around = vec![9u32; 4096];
    around.truncate(10);
    let mut receiving = world.recv_init(around, left, 1)?;
    for length in [100, 10, 30_000, 3] {
        let active = receiving.start()?;
        let sending = world.isend(vec![length as u32; length], right, 1)?;
        let outcome;
        (receiving, outcome) = active.complete()?;
        match outcome {
            Ok(status) => {
                assert_eq!(status.count::<u32>()?, length);
                assert_eq!(receiving.buffer()[..length], vec![length as u32; length]);
            }
            Err(error) => {
                assert!(length > 10);
                assert_eq!(error.kind(), ErrorKind::Truncated);
            }
        }
        sending.wait()?;
    }
    let buffer = receiving.free()?;
    assert_eq!((buffer.len(), &buffer[..3]), (10, &[3, 3, 3][..]));
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn tests_see_the_end(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut receiving = world.recv_init(vec![0u8; 3], left, 1)?;
    for _ in 0..2 {
        let mut active = receiving.start()?;
        assert!(!active.test()?, "nothing was sent yet");
        assert!(!active.wait_timeout(Duration::from_millis(1))?);
        world.sendrecv(&[0u8], left, 9, &mut [0u8], right, 9)?;
        world.send(&[1u8, 2, 3], right, 1)?;
        while !active.test()? {}
        assert!(active.test()?, "it stays over");
        let status;
        (receiving, status) = active.wait()?;
        assert_eq!((receiving.buffer(), status.bytes()), (&[1, 2, 3][..], 3));
        receiving.buffer_mut().fill(0);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn messages_keep_their_order_whatever_receives_them(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let first = world.irecv_vec::<u8>(left, Tag::Any)?;
    let second = world.recv_init(vec![0u8; 1], left, 1)?.start()?;
    let third = world.irecv(vec![0u8; 1], left, Tag::Any)?;
    for number in 1..=3u8 {
        world.isend(vec![number], right, 1)?.wait()?;
    }
    assert_eq!(first.wait()?.0, [1]);
    assert_eq!(second.wait()?.0.buffer(), [2]);
    assert_eq!(third.wait()?.0, [3]);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn what_is_dropped_goes_on(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    drop(world.recv_init(vec![0u64; 3], left, 1)?);
    drop(world.send_init(vec![0u64; 3], right, 1)?);
    drop(world.recv_init(vec![0u64; 30_000], left, 1)?.start()?);
    // A receive that nobody waits for still matches the first message.
    let sending = world.send_init(vec![1u64; 30_000], right, 1)?.start()?;
    let last = world.isend(vec![2u64; 3], right, 1)?;
    drop(sending);
    assert_eq!(world.recv_vec::<u64>(left, 1)?.0, [2; 3]);
    last.wait()?;
    // And a receive without a message does not keep the runtime from ending.
    drop(world.recv_init(vec![0u8; 1], left, 77)?.start()?);
    // A forgotten operation only leaks.
    std::mem::forget(world.recv_init(vec![0u8; 1], left, 78)?.free()?);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn arguments_are_checked(world: Communicator) -> Result<()> {
    let size = world.size();
    let kinds = [
        world.send_init(vec![0u8], size, 0).map(drop),
        world.send_init(vec![0u8], 0, -1).map(drop),
        world.recv_init(vec![0u8], size, 0).map(drop),
        world.recv_init(vec![0u8], 0, -1).map(drop),
        world.bsend(&[0u8], size, 0),
    ]
    .map(|outcome| outcome.unwrap_err().kind());
    let (rank, tag) = (ErrorKind::Rank, ErrorKind::Tag);
    assert_eq!(kinds, [rank, tag, rank, tag, rank]);
    Ok(())
}

#[ranks_test::ranks(2)]
fn requests_are_used_by_another_thread(world: Communicator) -> Result<()> {
    let peer = 1 - world.rank();
    let receiving = world.recv_init(vec![0u32; 2], peer, 1)?;
    let sending = world.send_init(vec![3u32, 4], peer, 1)?;
    let got = std::thread::scope(|threads| {
        let other = threads.spawn(move || receiving.start()?.wait());
        let mine = sending.start().and_then(Active::wait);
        (other.join(), mine)
    });
    let (Ok(received), sent) = got else {
        panic!("the thread ended");
    };
    sent?;
    assert_eq!(received?.0.buffer(), [3, 4]);
    Ok(())
}

/// Messages match in the order of their starts: the tags separate persistent operations of one
/// form, as in the standard.
#[ranks_test::ranks(2, 3)]
fn prepared_operations_of_one_form_are_separated_by_their_tags(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let make = |tag| {
        let send = world.send_init(vec![tag; 5], right, tag)?;
        let receive = world.recv_init(vec![0; 5], left, tag)?;
        Ok::<_, ranks_comm::Error>((send, receive))
    };
    // In another order on each rank.
    let tags = if world.rank().is_multiple_of(2) {
        [3, 4]
    } else {
        [4, 3]
    };
    let mut pairs = tags.map(make).into_iter().collect::<Result<Vec<_>>>()?;
    for _ in 0..3 {
        let mut active = Vec::new();
        for (send, receive) in pairs.drain(..) {
            active.push((send.start()?, receive.start()?));
        }
        for (tag, (send, receive)) in tags.into_iter().zip(active).rev() {
            let (receive, _) = receive.wait()?;
            assert_eq!(receive.buffer()[..], [tag; 5]);
            pairs.insert(0, (send.wait()?.0, receive));
        }
    }
    Ok(())
}
