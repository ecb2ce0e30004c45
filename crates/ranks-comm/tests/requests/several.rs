//! Requests that are completed together.

use super::*;

#[ranks_test::ranks(1, 2, 3, 4)]
fn h6_nothing_under_way_is_none_and_never_a_panic(world: Communicator) -> Result<()> {
    let mut none = Requests::<ranks_comm::Request<Vec<u8>>>::new();
    assert!(none.wait_any()?.is_none() && none.test_any()?.is_none());
    assert!(none.wait_some()?.is_empty() && none.test_some()?.is_empty());
    assert!(none.wait_all()?.is_empty());
    assert!(none.test_all()?.is_some_and(|all| all.is_empty()));
    let (left, right) = neighbours(&world);
    none.push(world.irecv(vec![0u8], left, 0)?);
    world.isend(vec![1u8], right, 0)?.wait()?;
    assert_eq!(none.wait_any()?.map(|done| done.buffer), Some(vec![1]));
    assert!(none.wait_any()?.is_none());
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn many_are_completed_in_the_order_in_which_they_end(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut arriving: Requests<_> = (0..100)
        .map(|tag| world.irecv(vec![0u32; 3], left, tag))
        .collect::<Result<_>>()?;
    let mut leaving = Requests::new();
    for tag in (0..100).rev().step_by(2) {
        leaving.push(world.isend(vec![tag as u32; 3], right, tag)?);
    }
    assert!(arriving.test_all()?.is_none());
    let mut seen = Vec::new();
    while seen.len() < 50 {
        for done in arriving.wait_some()? {
            assert!(done.status.bytes() > 0);
            assert_eq!(done.buffer, [done.key as u32; 3]);
            seen.push(done.key);
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..100).step_by(2).collect::<Vec<_>>());
    assert!(arriving.test_any()?.is_none() && arriving.test_some()?.is_empty());
    assert_eq!(arriving.len(), 50);
    let_the_left_go_on(&world)?;
    for tag in (0..100).step_by(2) {
        leaving.push(world.isend(vec![tag as u32; 3], right, tag)?);
    }
    let last = arriving.wait_any()?.map(|done| done.key % 2);
    assert_eq!(last, Some(0));
    let rest = arriving.wait_all()?;
    assert_eq!(rest.len(), 49);
    assert!(rest.windows(2).all(|pair| pair[0].key < pair[1].key));
    assert_eq!(leaving.wait_all()?.len(), 100);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn one_that_fails_does_not_lose_the_others(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut arriving = Requests::new();
    for tag in 0..4 {
        arriving.push(world.irecv(vec![0u64; 2], left, tag)?);
    }
    let leaving: Requests<_> = (0..4)
        .map(|tag| world.isend(vec![7u8; if tag == 2 { 9 } else { 16 }], right, tag))
        .collect::<Result<_>>()?;
    let error = arriving.wait_all().expect_err("one is not whole");
    assert_eq!(error.kind(), ErrorKind::Type);
    let text = error.to_string();
    assert!(
        text.starts_with("MPI_Waitall: 1 of 4 operations failed; operation 2: "),
        "{text}"
    );
    let failed: Vec<_> = error.statuses().iter().map(|(_, s)| s.is_err()).collect();
    assert_eq!(failed, [false, false, true, false]);
    let ended = arriving.take_ended();
    assert_eq!(ended.len(), 4);
    for done in ended.iter().filter(|done| done.key != 2) {
        assert_eq!(done.buffer, [0x0707_0707_0707_0707; 2]);
        assert_eq!(done.status.map(|status| status.bytes()), Some(16));
    }
    assert!(arriving.take_ended().is_empty());
    drop(leaving);
    Ok(())
}

/// A message of 3 elements into room for 1, completed among others by each of the calls.
#[ranks_test::ranks(1, 2, 3)]
fn waiting_for_many_told_nothing_of_one_that_failed(world: Communicator) -> Result<()> {
    type Many = Requests<ranks_comm::Request<Vec<i32>>>;
    fn until<T>(mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        loop {
            if let Some(found) = ask()? {
                return Ok(found);
            }
        }
    }
    fn each(mut ask: impl FnMut() -> Result<bool>) -> Result<()> {
        while ask()? {}
        Ok(())
    }
    let ways: [fn(&mut Many) -> Result<()>; 6] = [
        |many| many.wait_all().map(drop),
        |many| until(|| many.test_all()).map(drop),
        |many| each(|| Ok(many.wait_any()?.is_some())),
        |many| {
            each(|| {
                let _ = many.test_any()?;
                Ok(!many.is_empty())
            })
        },
        |many| each(|| Ok(!many.wait_some()?.is_empty())),
        |many| {
            each(|| {
                let _ = many.test_some()?;
                Ok(!many.is_empty())
            })
        },
    ];
    let (left, right) = neighbours(&world);
    for way in ways {
        let mut arriving: Many = [3, 1, 3]
            .into_iter()
            .enumerate()
            .map(|(tag, room)| world.irecv(vec![0; room], left, tag as i32))
            .collect::<Result<_>>()?;
        let leaving: Many = (0..3)
            .map(|tag| world.isend(vec![5; 3], right, tag))
            .collect::<Result<_>>()?;
        let error = way(&mut arriving).expect_err("one had no room");
        assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
        let failed = error.statuses().iter().filter(|(_, s)| s.is_err());
        assert_eq!(failed.map(|(key, _)| *key).collect::<Vec<_>>(), [1]);
        // Nothing else was lost.
        let mut rest = arriving.take_ended();
        rest.extend(arriving.wait_all()?.into_iter().map(|done| Completed {
            key: done.key,
            buffer: done.buffer,
            status: Some(done.status),
        }));
        drop(leaving);
        assert!(rest.iter().any(|done| done.key == 1));
    }
    Ok(())
}

/// A receive that is late took those behind it along, whose messages had arrived.
#[ranks_test::ranks(1, 2, 3)]
fn messages_that_had_arrived_were_lost_with_one_that_had_not(world: Communicator) -> Result<()> {
    const MESSAGES: usize = 6;
    const LATE: usize = 2;
    let (rank, size) = (world.rank(), world.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    // A message arrives after those that were sent before it.
    let all_have_come = || world.sendrecv(&[0_u8], next, 99, &mut [0_u8], before, 99);
    for unknown in [false, true] {
        let (mut filled, mut made) = (Requests::new(), Requests::new());
        for tag in 0..MESSAGES as i32 {
            match unknown {
                true => made.push(world.irecv_vec::<u16>(before, tag)?),
                false => filled.push(world.irecv(vec![0_u16; 2], before, tag)?),
            };
        }
        for tag in (0..MESSAGES).filter(|&tag| tag != LATE) {
            world.send(&[tag as u16; 2], next, tag as i32)?;
        }
        all_have_come()?;
        let limit = Duration::from_millis(300);
        let (outcome, ended) = world.within(limit, |_| {
            let (outcome, ended) = match unknown {
                true => (made.wait_all(), made.take_ended()),
                false => (filled.wait_all(), filled.take_ended()),
            };
            Ok::<_, Error>((outcome.map(drop), ended))
        })?;
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::TimedOut);
        // In process the one that is late has ended without a message.
        let ended = ended.into_iter().filter(|one| one.status.is_some());
        let ended: Vec<_> = ended.map(|one| (one.key, one.buffer)).collect();
        let there = (0..MESSAGES).filter(|&tag| tag != LATE);
        let there: Vec<_> = there.map(|tag| (tag, vec![tag as u16; 2])).collect();
        assert_eq!(ended, there, "of unknown length: {unknown}");
        // Nobody goes on, or ends, while another waits for these.
        for _ in 1..size {
            all_have_come()?;
        }
    }
    Ok(())
}
