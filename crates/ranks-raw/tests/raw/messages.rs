//! Messages that nobody waits for, and those that somebody must.

use std::time::Duration;

use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_raw::{Dtype, RawCollectives, RawComm, RawOptions};

/// Two ranks that both send 800 kB and wait for it before they receive, as stages of a pipeline do.
#[ranks_test::ranks(2, 3)]
fn both_send_and_sync_before_they_receive(world: Communicator) -> Result<()> {
    const COUNT: usize = 100_000;
    let comm = super::raw(&world)?;
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    for round in 0..2 {
        let sent = vec![rank * 10 + round; COUNT];
        let (mut from_next, mut from_previous) = (vec![0; COUNT], vec![0; COUNT]);
        for (peer, tag) in [(next, 4), (previous, 5)] {
            // SAFETY: `sent` has so many elements, and lives until `sync` has returned.
            unsafe { comm.send(sent.as_ptr().cast(), COUNT, Dtype::U64, peer, tag) }?;
            comm.sync()?;
        }
        drop(sent);
        for (peer, tag, into) in [(previous, 4, &mut from_previous), (next, 5, &mut from_next)] {
            // SAFETY: as above.
            unsafe { comm.recv(into.as_mut_ptr().cast(), COUNT, Dtype::U64, peer, tag) }?;
            comm.sync()?;
            assert!(into.iter().all(|number| *number == peer * 10 + round));
        }
    }
    Ok(())
}

/// What is beyond the room for copies is waited for, and arrives all the same.
#[ranks_test::ranks(2)]
fn more_than_there_is_room_for_arrives(world: Communicator) -> Result<()> {
    const BYTES: usize = 1 << 20;
    let comm = RawComm::new(&world, RawOptions::new().staged_sends(BYTES + 10))?;
    let data = vec![7_u8; BYTES];
    let mut room = vec![0_u8; BYTES];
    if world.rank() == 0 {
        // SAFETY: `data` has so many elements, and lives until `sync` has returned.
        unsafe { comm.send(data.as_ptr().cast(), BYTES, Dtype::U8, 1, 0) }?;
        assert!(comm.progress()?, "nobody waits for what was copied");
        // SAFETY: as above.
        unsafe { comm.send(data.as_ptr().cast(), BYTES, Dtype::U8, 1, 1) }?;
        comm.sync()?;
        assert!(comm.progress()?);
    } else {
        for tag in 0..2 {
            // SAFETY: as above.
            unsafe { comm.recv(room.as_mut_ptr().cast(), BYTES, Dtype::U8, 0, tag) }?;
            comm.sync()?;
            assert_eq!(room, data);
            room.fill(0);
        }
    }
    Ok(())
}

/// A copy is what is sent, so that the sender may go on with its buffer.
#[ranks_test::ranks(1, 2)]
fn what_is_sent_may_change_after_sync(world: Communicator) -> Result<()> {
    let comm = super::raw(&world)?;
    let peer = world.size() - 1 - world.rank();
    let mut data = vec![1_i32; 50_000];
    let mut room = vec![0_i32; 50_000];
    // SAFETY: `data` has so many elements, and is not changed until `sync` has returned.
    unsafe { comm.send(data.as_ptr().cast(), data.len(), Dtype::I32, peer, 0) }?;
    comm.sync()?;
    data.fill(2);
    // SAFETY: as above.
    unsafe { comm.recv(room.as_mut_ptr().cast(), room.len(), Dtype::I32, peer, 0) }?;
    comm.sync()?;
    assert!(room.iter().all(|number| *number == 1));
    Ok(())
}

/// Tags up to the library's limit, but for the last.
#[ranks_test::ranks(2)]
fn tags_up_to_the_limit(world: Communicator) -> Result<()> {
    let comm = super::raw(&world)?;
    let limit = world.max_tag().unsigned_abs();
    let (mine, mut theirs) = ([world.rank()], [9]);
    let peer = 1 - world.rank();
    // SAFETY: both have one element, and live until `sync` has returned.
    unsafe { comm.send(mine.as_ptr().cast(), 1, Dtype::U64, peer, limit - 1) }?;
    // SAFETY: as above.
    unsafe { comm.recv(theirs.as_mut_ptr().cast(), 1, Dtype::U64, peer, limit - 1) }?;
    comm.sync()?;
    assert_eq!(theirs, [peer]);
    // SAFETY: as above; it is not begun.
    let refused = unsafe { comm.send(mine.as_ptr().cast(), 1, Dtype::U64, peer, limit) };
    let error = refused.expect_err("the last tag is taken");
    assert_eq!(error.kind(), ErrorKind::Tag);
    assert!(
        error.to_string().contains(&(limit - 1).to_string()),
        "{error}"
    );
    Ok(())
}

/// A message that was sent arrives though its communicator is gone.
#[ranks_test::ranks(2)]
fn a_message_arrives_after_its_communicator_was_dropped(world: Communicator) -> Result<()> {
    let comm = super::raw(&world)?;
    let mut data = vec![world.rank() + 1; 30_000];
    if world.rank() == 0 {
        // SAFETY: a copy is what is sent.
        unsafe { comm.send(data.as_ptr().cast(), data.len(), Dtype::U64, 1, 0) }?;
        drop(comm);
        data.fill(0);
        world.recv(&mut [0_u8], 1, 9)?;
    } else {
        // SAFETY: `data` has so many elements, and lives until `wait` has returned.
        unsafe { comm.recv(data.as_mut_ptr().cast(), data.len(), Dtype::U64, 0, 0) }?;
        comm.wait(Duration::from_secs(30))?;
        assert!(data.iter().all(|number| *number == 1));
        world.send(&[0_u8], 0, 9)?;
    }
    Ok(())
}
