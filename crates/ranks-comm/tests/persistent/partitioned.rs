//! Partitioned communication.

use ranks_comm::{ActiveRecv, ActiveSend, Communicator, ErrorKind, Result};

use crate::neighbours;

/// Returns `true` if the library has partitioned communication; the others name the function that
/// they lack.
fn has_partitions(world: &Communicator) -> bool {
    match world.psend_init(vec![0u8; 2], 2, world.rank(), 99) {
        Ok(_) => {
            let matching = world.precv_init(vec![0u8; 2], 2, world.rank(), 99);
            matching.is_ok()
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotInLibrary, "{error}");
            let (text, library) = (error.to_string(), world.library());
            let why = if ["MPICH 3", "Open MPI 4"]
                .iter()
                .any(|old| library.starts_with(old))
            {
                "MPI_Psend_init is not in this MPI library ("
            } else {
                "MPI_Psend_init: not offered over "
            };
            assert!(text.starts_with(why), "{text}");
            assert!(text.contains(library), "{text}");
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

#[ranks_test::ranks(1, 2, threads = funneled)]
fn partitions_that_another_thread_drops_are_sent(world: Communicator) -> Result<()> {
    if !has_partitions(&world) {
        return Ok(());
    }
    let (left, right) = neighbours(&world);
    let elsewhere = |end: fn(ActiveSend<Vec<u8>>) -> Result<()>| {
        let sending = world.psend_init(vec![3u8; 6], 3, right, 1)?.start()?;
        let receiving = world.precv_init(vec![0u8; 6], 3, left, 1)?.start()?;
        sending.pready(1)?;
        let other = std::thread::spawn(move || end(sending));
        let outcome = other.join().expect("it does not panic");
        assert_eq!(receiving.wait()?.buffer(), [3; 6]);
        outcome
    };
    elsewhere(|sending| {
        drop(sending);
        Ok(())
    })?;
    let error = elsewhere(|sending| sending.wait().map(drop)).expect_err("forbidden");
    assert_eq!(error.kind(), ErrorKind::WrongThread);
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

/// MPI 5.0 §4.2: operations of one tag match in the order in which they are made, and not in that
/// in which they are started.
#[ranks_test::ranks(2, 3)]
fn partitioned_operations_of_one_form_are_separated_by_the_order_in_which_they_are_made(
    world: Communicator,
) -> Result<()> {
    if !has_partitions(&world) {
        return Ok(());
    }
    let (left, right) = neighbours(&world);
    let mut sends = Vec::new();
    let mut receives = Vec::new();
    for _ in 0..2 {
        sends.push(world.psend_init(vec![0u32; 4], 2, right, 8)?);
        receives.push(world.precv_init(vec![0u32; 4], 2, left, 8)?);
    }
    for round in 0..3u32 {
        let (mut going, mut coming) = (Vec::new(), Vec::new());
        // The last one first.
        for (number, mut send) in sends.drain(..).enumerate().rev() {
            send.buffer_mut()
                .fill(100 * round + 10 * number as u32 + world.rank() as u32);
            let active = send.start()?;
            active.pready_range(0..2)?;
            going.insert(0, active);
        }
        for receive in receives.drain(..) {
            coming.push(receive.start()?);
        }
        for (number, active) in coming.into_iter().enumerate() {
            let receive = active.wait()?;
            let want = 100 * round + 10 * number as u32 + left as u32;
            assert_eq!(receive.buffer()[..], [want; 4], "round {round}, {number}");
            receives.push(receive);
        }
        for active in going {
            sends.push(active.wait()?);
        }
    }
    Ok(())
}

/// The other leader took the partition for the group of the first one.
#[ranks_test::ranks(2, in_process_only)]
fn a_partition_was_taken_for_the_group_of_a_leader(world: Communicator) -> Result<()> {
    let (me, other) = (world.rank(), 1 - world.rank());
    let part = world.split(Some(i32::try_from(me).unwrap()), 0)?;
    let part = part.expect("every rank has a color");
    let mut pending = None;
    if me == 0 {
        let sending = world.psend_init(vec![7u64, 8], 2, other, 7)?.start()?;
        sending.pready(0)?;
        pending = Some(sending);
    }
    let between = part.intercomm_create(0, &world, other, 7)?;
    assert_eq!((between.size(), between.remote_size()), (1, 1));
    match pending {
        Some(sending) => drop(sending.wait()?),
        None => {
            let receiving = world.precv_init(vec![0u64; 2], 1, other, 7)?;
            assert_eq!(receiving.start()?.wait()?.buffer(), [7, 8]);
        }
    }
    Ok(())
}

/// It was waited for until the sender ended.
#[ranks_test::ranks(2, in_process_only)]
fn a_revoked_communicator_ends_partitioned_operations(world: Communicator) -> Result<()> {
    let comm = world.dup()?;
    if world.rank() == 0 {
        let sending = comm.psend_init(vec![0u8; 2], 2, 1, 7)?.start()?;
        sending.pready(0)?;
        comm.revoke()?;
        let error = sending.pready(1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Revoked, "{error}");
    } else {
        let receiving = comm.precv_init(vec![0u8; 2], 2, 0, 7)?.start()?;
        let error = receiving.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Revoked, "{error}");
    }
    Ok(())
}
