//! Modes of sending, and operations that are prepared once and done many times.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "numbers of ranks are small"
)]

use std::sync::Arc;
use std::time::Duration;

use ranks_comm::layout::View;
use ranks_comm::{
    Active, ActiveRecv, ActiveSend, BSEND_OVERHEAD, Buffer, Communicator, Destination, ErrorKind,
    Persistent, Result, Source, Tag,
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

/// As rsmpi's example `ready_send`: 1.0 to the neighbour, which has posted its receive before a barrier.
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
        // SAFETY: that rank has said that it has begun its receive into a buffer.
        unsafe { world.rsend(&[1.0f64], rank + 1, 0)? };
    }
    Ok(())
}

/// As rsmpi's example `buffered`: 100 numbers to oneself by way of a buffer that comes back as it was attached.
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

#[ranks_test::ranks(1, 2)]
fn one_buffer_is_attached_at_a_time(world: Communicator) -> Result<()> {
    let me = world.rank();
    let short = world.buffer_attach(vec![0; 8]).unwrap_err();
    assert_eq!(short.kind(), ErrorKind::Length);
    let attached = world.buffer_attach(vec![0; 4096])?;
    let second = world.buffer_attach(vec![0; 4096]).unwrap_err();
    assert_eq!(second.kind(), ErrorKind::Argument);
    assert!(second.to_string().starts_with("MPI_Buffer_attach: "));
    // Dropped with a message in it: the runtime keeps it, and it still goes.
    world.bsend(&[me as u32; 10], me, 1)?;
    drop(attached);
    assert_eq!(world.recv_vec::<u32>(me, 1)?.0, vec![me as u32; 10]);
    let next = world.buffer_attach(vec![0; 4096])?;
    world.bsend(&[7u8], me, 2)?;
    assert_eq!(world.recv_vec::<u8>(me, 2)?.0, [7]);
    // What is left at the end is detached then.
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
    const MANY: usize = 150;
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
            assert_eq!(one.status().source(), Some(left));
        }
    }
    assert!(Persistent::<Vec<u8>>::start_all(Vec::new())?.is_empty());
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
    // A receive that nobody waits for takes the first message all the same.
    let sending = world.send_init(vec![1u64; 30_000], right, 1)?.start()?;
    let last = world.isend(vec![2u64; 3], right, 1)?;
    drop(sending);
    assert_eq!(world.recv_vec::<u64>(left, 1)?.0, [2; 3]);
    last.wait()?;
    // And one for which nothing ever comes does not keep the runtime from ending.
    drop(world.recv_init(vec![0u8; 1], left, 77)?.start()?);
    // What is forgotten is only leaked.
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

/// Whether the library has partitions; the others say what they lack.
fn has_partitions(world: &Communicator) -> bool {
    match world.psend_init(vec![0u8; 2], 2, world.rank(), 99) {
        Ok(_) => {
            let matching = world.precv_init(vec![0u8; 2], 2, world.rank(), 99);
            matching.is_ok()
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotInLibrary, "{error}");
            let received = world.precv_init(vec![0u8; 2], 2, world.rank(), 99);
            let kind = received.err().map(|error| error.kind());
            assert_eq!(kind, Some(ErrorKind::NotInLibrary));
            false
        }
    }
}

#[test]
fn partitioned_operations_are_shared_among_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<ActiveSend<Vec<f64>>>();
    shared::<ActiveRecv<Vec<f64>>>();
}

#[ranks_test::ranks(2, 3, 4)]
fn partitions_go_as_they_are_ready(world: Communicator) -> Result<()> {
    if !has_partitions(&world) {
        return Ok(());
    }
    let (left, right) = neighbours(&world);
    let mut sending = world.psend_init(vec![0u32; 12], 4, right, 7)?;
    let mut receiving = world.precv_init(vec![0u32; 12].into_boxed_slice(), 4, left, 7)?;
    for round in 0..3u32 {
        let (to_go, to_come) = (sending.start()?, receiving.start()?);
        assert_eq!((to_go.partitions(), to_come.partitions()), (4, 4));
        for index in [2, 0, 3, 1] {
            let mut part = to_go.partition(index)?;
            assert_eq!((part.index(), part.len()), (index, 3));
            part.fill(100 * round + 10 * world.rank() as u32 + index as u32);
            part.ready()?;
        }
        sending = to_go.wait()?;
        receiving = to_come.wait()?;
        let want = |index: usize| 100 * round + 10 * left as u32 + index as u32 / 3;
        assert!((0..12).all(|index| receiving.buffer()[index] == want(index)));
        assert_eq!(sending.buffer()[11] % 10, 3);
        receiving.buffer_mut().fill(0);
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn partitions_are_written_by_threads_and_read_as_they_arrive(world: Communicator) -> Result<()> {
    const PARTS: usize = 8;
    if !has_partitions(&world) {
        return Ok(());
    }
    let peer = 1 - world.rank();
    let sending = world
        .psend_init(vec![0u64; 8000], PARTS, peer, 1)?
        .start()?;
    let receiving = world.precv_init(vec![0u64; 8000], 4, peer, 1)?.start()?;
    std::thread::scope(|threads| {
        let writers: Vec<_> = (0..4)
            .map(|thread| {
                let sending = &sending;
                threads.spawn(move || {
                    for index in [thread, thread + 4] {
                        let mut part = sending.partition(index)?;
                        part.fill(index as u64);
                        part.ready()?;
                    }
                    Result::Ok(())
                })
            })
            .collect();
        for index in 0..4 {
            let elements = loop {
                if let Some(elements) = receiving.parrived(index)? {
                    break elements;
                }
                std::thread::yield_now();
            };
            let want = [
                vec![2 * index as u64; 1000],
                vec![2 * index as u64 + 1; 1000],
            ]
            .concat();
            assert_eq!(elements, want);
        }
        for writer in writers {
            writer.join().unwrap_or_else(|_| panic!("a writer"))?;
        }
        Result::Ok(())
    })?;
    assert_eq!(receiving.wait()?.buffer()[7999], 7);
    sending.wait()?;
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn a_partition_is_ready_once(world: Communicator) -> Result<()> {
    if !has_partitions(&world) {
        return Ok(());
    }
    let peer = world.size() - 1 - world.rank();
    let sending = world.psend_init(vec![5i16; 10], 5, peer, 1)?.start()?;
    let receiving = world.precv_init(vec![0i16; 10], 5, peer, 1)?.start()?;
    let refused = |outcome: Result<()>| outcome.unwrap_err().kind() == ErrorKind::Argument;
    sending.pready(1)?;
    assert!(refused(sending.pready(1)), "ready twice");
    assert!(refused(sending.pready(5)) && refused(sending.pready_range(0..6)));
    assert!(refused(sending.partition(1).map(drop)), "ready");
    let part = sending.partition(2)?;
    assert!(refused(sending.pready(2)), "somebody writes to it");
    assert!(refused(sending.partition(2).map(drop)), "somebody has it");
    assert!(refused(sending.pready_range(2..5)), "none of them goes");
    drop(part);
    sending.pready_range(2..4)?;
    assert!(refused(sending.pready_list(&[4, 4])), "twice in a list");
    sending.pready_list(&[4, 0])?;
    sending.wait()?;
    assert!(receiving.parrived(5).is_err());
    assert_eq!(receiving.wait()?.buffer(), [5; 10]);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn partitions_that_nobody_makes_ready_go_at_the_end(world: Communicator) -> Result<()> {
    if !has_partitions(&world) {
        return Ok(());
    }
    let (left, right) = neighbours(&world);
    let sending = world.psend_init(vec![3u8; 6], 3, right, 1)?.start()?;
    let receiving = world.precv_init(vec![0u8; 6], 3, left, 1)?.start()?;
    std::mem::forget(sending.partition(1)?);
    sending.pready(0)?;
    sending.wait()?;
    assert_eq!(receiving.wait()?.buffer(), [3; 6]);
    // The same if nobody waits.
    let receiving = world.precv_init(vec![0u8; 6], 2, left, 2)?.start()?;
    drop(world.psend_init(vec![4u8; 6], 3, right, 2)?.start()?);
    assert_eq!(receiving.wait()?.buffer(), [4; 6]);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn partitions_have_equal_lengths(world: Communicator) -> Result<()> {
    for (length, partitions) in [(10, 3), (10, 0), (0, 1)] {
        let sent = world.psend_init(vec![0u8; length], partitions, 0, 1);
        let received = world.precv_init(vec![0u8; length], partitions, 0, 1);
        assert_eq!(sent.unwrap_err().kind(), ErrorKind::Length);
        assert_eq!(received.unwrap_err().kind(), ErrorKind::Length);
    }
    let nobody = world.psend_init(vec![0u8; 2], 2, world.size(), 1);
    assert_eq!(nobody.unwrap_err().kind(), ErrorKind::Rank);
    Ok(())
}

#[ranks_test::ranks(2)]
fn more_than_is_expected_does_not_overrun(world: Communicator) -> Result<()> {
    if !has_partitions(&world) {
        return Ok(());
    }
    let peer = 1 - world.rank();
    for (tag, length) in [(1, 1000), (2, 1_000_000)] {
        let sending = world.psend_init(vec![7u8; length], 4, peer, tag)?.start()?;
        let (into, beyond) = vec![9u8; length].leak().split_at_mut(100);
        let receiving = world.precv_init(into, 4, peer, tag)?.start()?;
        sending.pready_range(0..4)?;
        let failed = receiving.wait().unwrap_err();
        assert!(
            matches!(
                failed.kind(),
                ErrorKind::Truncated | ErrorKind::Length | ErrorKind::Library
            ),
            "{failed}"
        );
        assert!(beyond.iter().all(|&byte| byte == 9));
        drop(sending);
    }
    Ok(())
}
