//! Very many operations in flight at once: what one costs does not grow with their number, or these
//! would not end in time.

use super::*;

/// The number of requests: fewer where what carries the messages takes longer for each the more
/// there are, as Open MPI itself between processes on one host (of 5.0.11, in C, 0.4 us each of
/// 1000 and 138 us each of 40 000).
fn many(world: &Communicator) -> usize {
    match (world.library(), world.size()) {
        _ if cfg!(miri) => 60,
        (_, 1) => 200_000,
        (library, _) if library.starts_with("Open MPI") => 10_000,
        _ => 40_000,
    }
}

/// Numbers that are the same on each rank.
struct Dice(u32);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 16) as usize % limit
    }
}

#[ranks_test::ranks(1, 2)]
fn a_scope_completes_very_many(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let sent: Vec<u32> = (0..many(&world) as u32).collect();
    let mut got = vec![0u32; sent.len()];
    world.scope(|s| {
        for cell in got.chunks_mut(1) {
            s.irecv(cell, left, 1)?;
        }
        for cell in sent.chunks(1) {
            s.isend(cell, right, 1)?;
        }
        Ok::<(), Error>(())
    })?;
    assert!(got == sent);
    Ok(())
}

/// Rooms that are free again are found, wherever they are.
#[ranks_test::ranks(1, 2)]
fn requests_of_a_scope_are_waited_for_while_others_begin(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let count = many(&world) / 10;
    let open = if cfg!(miri) { 4 } else { 1000 };
    let sent: Vec<u32> = (0..count as u32).collect();
    let mut got = vec![0u32; count];
    let mut dice = Dice(7);
    let mut seen = 0;
    world.scope(|s| {
        let mut receiving = Vec::new();
        for (cell, value) in got.chunks_mut(1).zip(sent.chunks(1)) {
            receiving.push(s.irecv(cell, left, 1)?);
            let sending = s.isend(value, right, 1)?;
            if dice.below(2) == 0 {
                sending.wait()?;
            }
            if receiving.len() >= open {
                let mut request = receiving.swap_remove(dice.below(open));
                while !request.test()? {}
                request.wait()?;
                seen += 1;
            }
        }
        for request in receiving {
            request.wait()?;
            seen += 1;
        }
        Ok::<(), Error>(())
    })?;
    assert!(got == sent);
    assert_eq!(seen, count);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn very_many_owned_requests_are_completed_together(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let count = many(&world);
    let mut arriving: Requests<_> = (0..count)
        .map(|_| world.irecv(vec![0u32], left, 1))
        .collect::<Result<_>>()?;
    let mut leaving: Requests<_> = (0..count)
        .map(|value| world.isend(vec![value as u32], right, 1))
        .collect::<Result<_>>()?;
    for expected in 0..count / 2 {
        let done = arriving.wait_any()?;
        assert!(
            done.is_some_and(|done| done.buffer == [done.key as u32]),
            "{expected}"
        );
    }
    for done in arriving.wait_all()? {
        assert_eq!(done.buffer, [done.key as u32]);
    }
    assert_eq!(leaving.wait_all()?.len(), count);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn very_many_of_unknown_length_are_completed(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let count = many(&world) / 2;
    let tag = |number: usize| (number % 500) as i32;
    let mut arriving: Requests<_> = (0..count)
        .map(|number| world.irecv_vec::<u32>(left, tag(number)))
        .collect::<Result<_>>()?;
    let mut leaving: Requests<_> = (0..count)
        .map(|number| world.isend(vec![number as u32; 1 + number % 3], right, tag(number)))
        .collect::<Result<_>>()?;
    let ended = arriving.wait_all()?;
    assert_eq!(ended.len(), count);
    for done in ended {
        assert_eq!(done.buffer, vec![done.key as u32; 1 + done.key % 3]);
    }
    assert_eq!(leaving.wait_all()?.len(), count);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn very_many_are_dropped_and_go_on(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let other = world.dup()?;
    for number in 0..many(&world) / 40 {
        drop(world.irecv(vec![0u32], left, 1)?);
        drop(other.irecv_vec::<u32>(left, (number % 100) as i32)?);
    }
    for number in 0..many(&world) / 40 {
        drop(world.isend(vec![1u32], right, 1)?);
        drop(other.isend(vec![1u32; 3], right, (number % 100) as i32)?);
    }
    // Those that were dropped come before it.
    let last = world.irecv(vec![0u32], left, 1)?;
    world.isend(vec![2u32], right, 1)?.wait()?;
    assert_eq!(last.wait()?.0, [2]);
    let last = other.irecv_vec::<u32>(left, 99)?;
    other.isend(vec![2u32], right, 99)?.wait()?;
    assert_eq!(last.wait()?.0, [2]);
    Ok(())
}

/// Receives from any rank, of any tag, and of one of a few, of which some are cancelled, get what
/// a list that is searched from its beginning gives to each.
#[ranks_test::ranks(1, 2, 3)]
fn each_message_is_for_the_first_receive_that_matches(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let apart = world.dup()?;
    let count = if cfg!(miri) { 24 } else { 600 };
    for (mut dice, exact) in [(Dice(1), 1), (Dice(2), 4), (Dice(3), 30)] {
        let mut requests = Vec::new();
        let mut expected = Vec::new();
        let mut list = Vec::new();
        for index in 0..count {
            let from_any = dice.below(1 + exact) == 0;
            let tag = Some(dice.below(6) as i32).filter(|_| dice.below(1 + exact) != 0);
            let source = if from_any {
                Source::Any
            } else {
                Source::Rank(left)
            };
            let mut request = world.irecv_vec::<u32>(source, tag.map_or(Tag::Any, Tag::Value))?;
            if dice.below(5) == 0 {
                request.cancel()?;
            } else {
                list.push((index, tag));
            }
            requests.push((index, request));
            expected.push(None);
        }
        // Nothing is sent before all of them were begun.
        apart.sendrecv(&[0u8], left, 1, &mut [0u8], right, 1)?;
        let mut sending = Vec::new();
        let mut number = 0;
        while let Some(&(_, first)) = list.first() {
            let tag = match dice.below(4) {
                0 => first.unwrap_or(3),
                _ => dice.below(6) as i32,
            };
            let found = list
                .iter()
                .position(|&(_, wanted)| wanted.is_none_or(|wanted| wanted == tag));
            let Some(found) = found else { continue };
            let (index, _) = list.remove(found);
            expected[index] = Some((number, tag));
            sending.push(world.isend(vec![number], right, tag)?);
            number += 1;
        }
        while !requests.is_empty() {
            let (index, request): (usize, _) = requests.swap_remove(dice.below(requests.len()));
            let (got, status) = request.wait()?;
            match expected[index] {
                Some((number, tag)) => {
                    assert_eq!(
                        (got, status.tag()),
                        (vec![number], Some(tag)),
                        "receive {index}"
                    );
                }
                None => assert!(status.is_cancelled(), "receive {index}"),
            }
        }
        for request in sending {
            request.wait()?;
        }
        assert!(world.iprobe(Source::Any, Tag::Any)?.is_none());
        apart.sendrecv(&[0u8], left, 2, &mut [0u8], right, 2)?;
    }
    Ok(())
}

/// The library's progress took it for its receive between the look at it and the look for that.
#[ranks_test::ranks(1, 2)]
fn a_probe_saw_a_message_that_a_receive_had_taken_meanwhile(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let rounds = if cfg!(miri) { 10 } else { 10_000 };
    for _ in 0..rounds {
        let receiving = world.irecv_vec::<u8>(left, 0)?;
        let sending = [0, 1].map(|tag| world.isend(vec![0u8], right, tag));
        assert_eq!(world.probe(left, Tag::Any)?.tag(), Some(1));
        world.recv(&mut [0u8], left, 1)?;
        receiving.wait()?;
        for request in sending {
            request?.wait()?;
        }
    }
    Ok(())
}

/// A probe sees the message behind those that receives wait for, however many there are.
#[ranks_test::ranks(1, 2)]
fn a_probe_sees_what_no_receive_waits_for(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let count: u32 = if cfg!(miri) { 24 } else { 1000 };
    let requests: Vec<_> = (0..count)
        .map(|index| world.irecv_vec::<u32>(left, index as i32 % 2))
        .collect::<Result<_>>()?;
    let sending: Vec<_> = (0..=count)
        .map(|index| world.isend(vec![index], right, index as i32 % 2))
        .collect::<Result<_>>()?;
    let status = world.probe(left, Tag::Any)?;
    assert_eq!(status.tag(), Some(0));
    let mut last = [0u32];
    world.recv(&mut last, left, Tag::Any)?;
    assert_eq!(last, [count]);
    for (index, request) in requests.into_iter().enumerate() {
        assert_eq!(request.wait()?.0, [index as u32]);
    }
    for request in sending {
        request.wait()?;
    }
    Ok(())
}
