//! Operations on borrowed memory, which are complete when their scope ends.

use super::*;

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_scope_ends_what_it_began(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mine = [world.rank() as f64; 100];
    let (mut front, mut back) = ([0.0; 100], [0.0; 100]);
    world.scope(|s| {
        s.irecv(&mut front, left, 0)?;
        s.irecv(&mut back, right, 1)?;
        s.isend(&mine, right, 0)?;
        s.issend(&mine, left, 1)?;
        Ok::<(), Error>(())
    })?;
    assert!(front.iter().all(|&value| value == left as f64));
    assert!(back.iter().all(|&value| value == right as f64));
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn two_buffers_take_turns_in_one_scope(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let (mut first, mut second) = (vec![0u32; 1000], vec![0u32; 1000]);
    let mut sum = 0;
    world.scope(|s| {
        let (mut arriving, mut idle) = (&mut first[..], &mut second[..]);
        for step in 0..100u32 {
            let request = s.irecv(arriving, left, 0)?;
            world.send(&vec![step; 1000], right, 0)?;
            let (full, status) = request.wait()?;
            assert_eq!(status.count::<u32>()?, 1000);
            arriving = idle;
            idle = full;
            sum += idle.iter().sum::<u32>();
        }
        Ok::<(), Error>(())
    })?;
    assert_eq!(sum, 1000 * (99 * 100 / 2));
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn a_scope_holds_hundreds(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let sent: Vec<u16> = (0..300).collect();
    let mut got = vec![0u16; 300];
    world.scope(|s| {
        for (index, cell) in got.chunks_mut(1).enumerate() {
            s.irecv(cell, left, index as i32)?;
        }
        for (index, cell) in sent.chunks(1).enumerate().rev() {
            let request = s.isend(cell, right, index as i32)?;
            if index % 3 == 0 {
                request.wait()?;
            }
        }
        Ok::<(), Error>(())
    })?;
    assert_eq!(got, sent);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn a_scope_that_panics_gives_its_memory_back_untouched(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut memory = vec![1u64; LONG];
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        world.scope(|s| -> Result<()> {
            s.irecv(&mut memory, left, 123)?;
            panic!("half-way");
        })
    }));
    assert!(outcome.is_err());
    // Nothing is written here any more: the message goes to the next receive.
    memory.fill(2);
    let_the_left_go_on(&world)?;
    let sending = world.isend(vec![3u64; LONG], right, 123)?;
    let (got, _) = world.recv_vec::<u64>(left, 123)?;
    assert_eq!(got, vec![3; LONG]);
    assert_eq!(memory, vec![2; LONG]);
    sending.wait()?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn a_forgotten_scoped_request_is_over_when_the_scope_is(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut memory = vec![0u8; 4096];
    world.scope(|s| {
        std::mem::forget(s.irecv(&mut memory, left, 0)?);
        world.send(&[7u8; 4096], right, 0)
    })?;
    assert_eq!(memory, [7; 4096]);
    Ok(())
}

/// Found complete by `test`, and never waited for.
#[ranks_test::ranks(1, 2, 3)]
fn a_scope_told_nothing_of_a_failure_that_was_only_tested_for(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let sending = world.isend(vec![5i32; 3], right, 0)?;
    let mut room = [0i32];
    let outcome = world.scope(|s| {
        let mut request = s.irecv(&mut room, left, 0)?;
        while !request.test()? {}
        Ok::<(), Error>(())
    });
    assert_eq!(outcome.expect_err("no room").kind(), ErrorKind::Truncated);
    drop(sending);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn scoped_ones_are_waited_for_in_any_order(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut memory = vec![0u16; 20];
    let sent: Vec<u16> = (0..20).collect();
    world.scope(|s| {
        let mut arriving = Requests::new();
        for (tag, half) in memory.chunks_mut(10).enumerate() {
            arriving.push(s.irecv(half, left, tag as i32)?);
        }
        s.isend(&sent[10..], right, 1)?;
        let second = arriving.wait_any()?.expect("two are under way");
        assert_eq!(
            (second.key, second.buffer.as_deref()),
            (1, Some(&sent[10..]))
        );
        let_the_left_go_on(&world)?;
        s.isend(&sent[..10], right, 0)?;
        assert_eq!(arriving.wait_some()?.len(), 1);
        Ok::<(), Error>(())
    })?;
    assert_eq!(memory, sent);
    Ok(())
}

#[test]
fn of_many_that_arrive_in_process_the_one_that_is_too_long_is_the_error_of_the_scope() {
    let runtime = Runtime::builder().backend(Backend::InProcess).ranks(2);
    let body = |world: Communicator| -> Result<()> {
        let peer = 1 - world.rank();
        let sent: Vec<u16> = (0..40).collect();
        let mut got = [[99_u16; 2]; 20];
        let outcome = world.scope(|s| {
            for (index, place) in got.iter_mut().enumerate() {
                let room = if index == 7 { 1 } else { 2 };
                s.irecv(&mut place[..room], peer, 3)?;
            }
            for pair in sent.chunks(2) {
                s.isend(pair, peer, 3)?;
            }
            Ok::<(), Error>(())
        });
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Truncated);
        for (index, (got, sent)) in got.iter().zip(sent.chunks(2)).enumerate() {
            let expected = if index == 7 { &[99, 99] } else { sent };
            assert_eq!(got, expected, "{index}");
        }
        Ok(())
    };
    runtime.run(body).unwrap();
}
