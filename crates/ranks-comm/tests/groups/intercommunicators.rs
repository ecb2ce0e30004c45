//! Intercommunicators.

use super::*;

/// Even and odd ranks, each with a communicator of their own, and the intercommunicator between
/// them.
fn even_and_odd(world: &Communicator) -> Result<(Communicator, Intercommunicator)> {
    let odd = world.rank() % 2 == 1;
    let part = world.split(Some(i32::from(odd)), 0)?;
    let part = part.expect("every rank has a color");
    let between = between_leaders(world, &part, world)?;
    Ok((part, between))
}

/// The intercommunicator between the two parts; ranks that are no leaders pass `peer`.
fn between_leaders(
    world: &Communicator,
    part: &Communicator,
    peer: &Communicator,
) -> Result<Intercommunicator> {
    // The leaders are the last rank of the even ones and the first of the odd ones.
    let last_even = (world.size() - 1) / 2;
    let (local_leader, remote_leader) = if world.rank() % 2 == 1 {
        (0, 2 * last_even)
    } else {
        (last_even, 1)
    };
    let leads = part.rank() == local_leader;
    let peer = if leads { world } else { peer };
    part.intercomm_create(local_leader, peer, remote_leader, 12)
}

/// Over MPI one in process was an error of these ranks, and the others waited for them.
#[ranks_test::ranks(3, 4)]
fn ranks_that_are_no_leaders_pass_any_communicator(world: Communicator) -> Result<()> {
    let part = world.split(Some((world.rank() % 2) as i32), 0)?;
    let part = part.expect("every rank has a color");
    let alone = Runtime::builder().backend(Backend::InProcess).ranks(1);
    let alone = alone.init()?;
    let between = between_leaders(&world, &part, &alone.world())?;
    assert_eq!(between.size() + between.remote_size(), world.size());
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn ranks_are_those_of_the_other_group(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let odd = rank % 2;
    let (part, between) = even_and_odd(&world)?;
    let remote = if odd == 1 { size.div_ceil(2) } else { size / 2 };
    assert_eq!((between.rank(), between.size()), (part.rank(), part.size()));
    assert_eq!(between.remote_size(), remote);
    let theirs = between.remote_group()?;
    assert_eq!((theirs.size(), theirs.rank()), (remote, None));
    assert_eq!(
        theirs.translate(&[remote - 1], &world.group()?)?,
        [Some(2 * (remote - 1) + (1 - odd))]
    );
    assert_eq!(
        between.group()?.compare(&part.group()?),
        Comparison::Identical
    );
    for dest in 0..remote {
        between.send(&[rank as u64, dest as u64], dest, odd as i32)?;
    }
    let mut seen = vec![false; remote];
    for _ in 0..remote {
        let mut message = [0u64; 2];
        let status = between.recv(&mut message, Source::Any, Tag::Any)?;
        let source = status.source().expect("a rank has sent it");
        assert_eq!(
            message,
            [(2 * source + (1 - odd)) as u64, part.rank() as u64]
        );
        assert_eq!(status.tag(), Some((1 - odd) as i32));
        assert!(!std::mem::replace(&mut seen[source], true));
    }
    for error in [
        between.send(&[0u8], remote, 0).unwrap_err(),
        between.ssend(&[0u8], remote, 0).unwrap_err(),
        between.recv(&mut [0u8], remote, 0).unwrap_err(),
        between.iprobe(remote, 0).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Rank, "{error}");
    }
    let error = between.send(&[0u8], 0, -1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tag);
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn every_way_of_receiving_works_between_groups(world: Communicator) -> Result<()> {
    let (_, between) = even_and_odd(&world)?;
    let pairs = between.size().min(between.remote_size());
    let partner = (between.rank() < pairs).then_some(between.rank());
    let number = world.rank() as u32;
    let theirs = partner.map(|partner| (2 * partner + 1 - world.rank() % 2) as u32);
    let mut got = [77u32; 2];
    let status = between.sendrecv(&[number], partner, 1, &mut got, partner, 1)?;
    assert_eq!((status.source(), got[0]), (partner, theirs.unwrap_or(77)));
    let mut swapped = [number];
    between.sendrecv_replace(&mut swapped, partner, 2, partner, 2)?;
    assert_eq!(swapped[0], theirs.unwrap_or(number));
    let (Some(partner), Some(theirs)) = (partner, theirs) else {
        return Ok(());
    };
    for (tag, length) in (3..8).zip(6..) {
        between.send(&vec![number; length], partner, tag)?;
    }
    assert_eq!(between.probe(partner, 3)?.count::<u32>()?, 6);
    while between.iprobe(partner, 3)?.is_none() {}
    let (all, status) = between.recv_vec::<u32>(partner, 3)?;
    assert_eq!((all, status.source()), (vec![theirs; 6], Some(partner)));
    let message = between.mprobe(partner, 4)?;
    assert_eq!(message.recv_vec::<u32>()?.0, [theirs; 7]);
    loop {
        if let Some(message) = between.improbe(partner, 5)? {
            let mut room = [0u32; 8];
            assert_eq!(message.recv(&mut room)?.count::<u32>()?, 8);
            break;
        }
    }
    let mut short = [0u32; 8];
    let error = between.recv(&mut short, partner, 6).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    drop(between.mprobe(partner, 7)?);
    // Not all have partners: the rest is between these.
    if world.rank().is_multiple_of(2) {
        between.ssend(&[number], partner, 9)?;
    } else {
        assert_eq!(between.recv_vec::<u32>(partner, 9)?.0, [theirs]);
    }
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn requests_between_groups_give_their_memory_back(world: Communicator) -> Result<()> {
    let (_, between) = even_and_odd(&world)?;
    let remote = between.remote_size();
    let number = |world_rank: usize, part: usize| (10 * world_rank + part) as u64;
    // As `even_and_odd` has it, seen from the remote group.
    let world_rank = |remote: usize| 2 * remote + (1 - world.rank() % 2);
    let mut receiving = Vec::new();
    let mut sending = Vec::new();
    for rank in 0..remote {
        receiving.push(between.irecv(vec![0u64; 3], rank, 1)?);
        receiving.push(between.irecv_vec(rank, 2)?);
    }
    for rank in 0..remote {
        sending.push(between.isend(vec![number(world.rank(), 1); 2], rank, 1)?);
        sending.push(between.issend(vec![number(world.rank(), 2); 5000], rank, 2)?);
    }
    for (index, request) in receiving.into_iter().enumerate() {
        let (rank, part) = (index / 2, 1 + index % 2);
        let length = if part == 1 { 2 } else { 5000 };
        let (got, status) = request.wait()?;
        assert_eq!(
            (status.source(), status.tag()),
            (Some(rank), Some(part as i32))
        );
        assert_eq!(status.count::<u64>()?, length);
        assert_eq!(got[..length], vec![number(world_rank(rank), part); length]);
    }
    for (index, request) in sending.into_iter().enumerate() {
        let (sent, _) = request.wait()?;
        assert_eq!(sent[0], number(world.rank(), 1 + index % 2));
    }
    let pairs = between.size().min(remote);
    let partner = (between.rank() < pairs).then_some(between.rank());
    let mine = vec![number(world.rank(), 3)];
    let both = between.isendrecv(mine.clone(), partner, 3, vec![77u64], partner, 3)?;
    let ((sent, got), status) = both.wait()?;
    assert_eq!((sent, status.source()), (mine, partner));
    assert_eq!(
        got,
        [partner.map_or(77, |rank| number(world_rank(rank), 3))]
    );
    for error in [
        between.isend(vec![0u8], remote, 0).unwrap_err(),
        between.issend(vec![0u8], remote, 0).unwrap_err(),
        between.irecv(vec![0u8], remote, 0).unwrap_err(),
        between.irecv_vec::<u8>(remote, 0).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Rank, "{error}");
    }
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn a_scope_between_groups_borrows(world: Communicator) -> Result<()> {
    let (_, between) = even_and_odd(&world)?;
    let remote = between.remote_size();
    let mine = [world.rank() as u32; 4];
    let mut theirs = vec![[99u32; 4]; remote];
    let mut short = [0u32; 2];
    between.scope(|s| {
        let mut receiving = Vec::new();
        for (rank, room) in theirs.iter_mut().enumerate() {
            receiving.push(s.irecv(room.as_mut_slice(), rank, 1)?);
        }
        for rank in 0..remote {
            s.isend(&mine, rank, 1)?;
        }
        let (room, status) = receiving.remove(0).wait()?;
        assert_eq!((room.len(), status.source()), (4, Some(0)));
        let error = s.isend(&mine, remote, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Rank);
        Ok::<_, ranks_comm::Error>(())
    })?;
    for (rank, room) in theirs.iter().enumerate() {
        assert_eq!(*room, [(2 * rank + (1 - world.rank() % 2)) as u32; 4]);
    }
    if between.rank() == 0 {
        let long = mine;
        let error = between
            .scope(|s| {
                s.issend(&long, 0, 2)?;
                s.irecv(&mut short, 0, 2)?.wait().map(drop)
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
    }
    Ok(())
}

#[ranks_test::ranks(2)]
fn a_request_between_groups_shows_no_communicator(world: Communicator) -> Result<()> {
    let (_, between) = even_and_odd(&world)?;
    let request = between.isend(vec![1u8], 0, 0)?;
    assert!(request.communicator().is_none());
    request.wait()?;
    assert_eq!(between.recv_vec::<u8>(0, 0)?.0, [1]);
    let request = world.isend(vec![1u8], None::<usize>, 0)?;
    let comm = request.communicator().expect("it is one of a single group");
    assert_eq!(comm.compare(&world)?, Comparison::Identical);
    request.wait()?;
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn merged_groups_are_ordered_as_they_ask(world: Communicator) -> Result<()> {
    let odd = world.rank() % 2 == 1;
    let (part, between) = even_and_odd(&world)?;
    let first = between.merge(odd)?;
    assert_eq!(first.size(), world.size());
    let expected = if odd { between.remote_size() } else { 0 } + part.rank();
    assert_eq!(first.rank(), expected);
    ring(&first, 1)?;
    let second = between.merge(!odd)?;
    let expected = if odd { 0 } else { between.remote_size() } + part.rank();
    assert_eq!(second.rank(), expected);
    assert_eq!(ring(&second, 5)?, 5);
    let any = between.merge(false)?;
    assert_ne!(any.compare(&world)?, Comparison::Unequal);
    ring(&any, 1)?;
    drop((first, any));
    second.free()?;
    between.free()
}

#[ranks_test::ranks(2, 3)]
fn a_duplicate_has_its_own_messages(world: Communicator) -> Result<()> {
    let (_, between) = even_and_odd(&world)?;
    let copy = between.dup()?;
    assert_eq!(copy.remote_size(), between.remote_size());
    assert_eq!(between.compare(&copy)?, Comparison::Congruent);
    assert_eq!(between.compare(&between.clone())?, Comparison::Identical);
    copy.set_name("between")?;
    assert_eq!(copy.name()?, "between");
    if between.rank() == 0 {
        between.send(&[1u8], 0, 0)?;
        copy.send(&[2u8], 0, 0)?;
        assert_eq!(copy.recv_vec::<u8>(0, 0)?.0, [2]);
        assert!(copy.iprobe(Source::Any, Tag::Any)?.is_none());
        assert_eq!(between.recv_vec::<u8>(0, 0)?.0, [1]);
    }
    let error = between.clone().free().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    copy.free()?;
    Ok(())
}

#[ranks_test::ranks(2, 3, timeout = 120)]
fn thousands_of_dropped_intercommunicators_are_freed(world: Communicator) -> Result<()> {
    let (part, first) = even_and_odd(&world)?;
    let odd = world.rank() % 2 == 1;
    let last_even = (world.size() - 1) / 2;
    let (local_leader, remote_leader) = if odd {
        (0, 2 * last_even)
    } else {
        (last_even, 1)
    };
    // Each round makes three; MPICH has room for about two thousand at a time.
    let rounds = if world.size() == 2 { 700 } else { 20 };
    for round in 0..rounds {
        let other = part.intercomm_create(local_leader, &world, remote_leader, 3)?;
        if round % 10 == 0 {
            let mut byte = [0u8];
            let peer =
                (other.rank() < other.size().min(other.remote_size())).then_some(other.rank());
            other.sendrecv(&[1u8], peer, 0, &mut byte, peer, 0)?;
        }
        drop(first.dup()?);
        drop(first.merge(odd)?);
    }
    // One that was merged of another that was dropped since.
    for _ in 0..rounds {
        let other = part.intercomm_create(local_leader, &world, remote_leader, 3)?;
        let merged = other.merge(odd)?;
        drop((other, merged));
    }
    ring(&world, 1)?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn leaders_must_be_there(world: Communicator) -> Result<()> {
    let own = world.split(Some(world.rank() as i32), 0)?;
    let own = own.expect("every rank has a color");
    for (local, remote, tag, kind) in [
        (1, 0, 0, ErrorKind::Rank),
        (0, world.size(), 0, ErrorKind::Rank),
        (0, world.rank(), 0, ErrorKind::Argument),
        (0, 0, -1, ErrorKind::Tag),
    ] {
        let error = own
            .intercomm_create(local, &world, remote, tag)
            .unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    Ok(())
}

/// The others waited for a leader whose arguments were refused.
#[ranks_test::ranks(2, 3)]
fn a_leader_that_is_refused_leaves_no_rank_of_its_own_waiting(world: Communicator) -> Result<()> {
    if !world.compares_calls() {
        return Ok(());
    }
    let all = world.dup()?;
    let error = all.intercomm_create(1, &world, 0, -1).unwrap_err();
    let own = if world.rank() == 1 {
        ErrorKind::Tag
    } else {
        ErrorKind::Mismatch
    };
    assert_eq!(error.kind(), own, "{error}");
    ring(&world, 1)?;
    Ok(())
}
