//! Ranks that do not do the same with their windows.

use ranks_collectives::Collectives;
use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_rma_window::{SharedWindow, Spacing};

#[ranks_test::ranks(1, 2, 4)]
fn a_dropped_window_is_an_error_of_the_others(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let (rank, size) = (world.rank(), world.size());
    let reading = SharedWindow::<u64>::allocate(&world, 1)?.fence()?;
    if rank == size - 1 {
        drop(reading);
    } else {
        let error = reading.fence().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PeerFailed);
        let text = error.to_string();
        let who = format!("rank {} has dropped its window in the phase Read", size - 1);
        assert!(text.contains(&who), "{text}");
        assert!(
            text.contains(&format!("rank {rank} goes on to the phase Write")),
            "{text}"
        );
    }
    // The communicator is as good as before.
    world.barrier()?;
    SharedWindow::<u64>::allocate(&world, 1)?.free()
}

#[ranks_test::ranks(2, 3)]
fn other_phases_are_an_error_of_all(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    if world.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let rank = world.rank();
    let writing = SharedWindow::<u64>::allocate(&world, 1)?;
    let error = if rank == 0 {
        writing.concurrent().map(drop)
    } else {
        writing.fence().map(drop)
    };
    let error = error.unwrap_err();
    // Who comes late may find that another one, which found out, has left already: after it had
    // arrived.
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let text = error.to_string();
    assert!(
        text.contains("the phase Concurrent") && text.contains("the phase Read"),
        "{text}"
    );
    world.barrier()
}

#[ranks_test::ranks(2)]
fn freeing_is_a_step_as_well(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    if world.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let reading = SharedWindow::<u64>::allocate(&world, 1)?.fence()?;
    let outcome = if world.rank() == 1 {
        reading.free()
    } else {
        reading.fence().map(drop)
    };
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Mismatch);
    world.barrier()
}

#[ranks_test::ranks(2, 3)]
fn who_uses_one_of_two_windows_only_is_waited_for_at_the_other(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    if world.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let old = SharedWindow::<u64>::allocate(&world, 1)?.fence()?;
    let new = SharedWindow::<u64>::allocate(&world, 1)?;
    let outcome = if world.rank() == 0 {
        // The other windows may go on without it, ...
        let new = new.fence();
        drop(old);
        new.map(drop)
    } else {
        new.fence_with(old).map(drop)
    };
    // ... and find that it has left the second one.
    match world.rank() {
        0 => outcome?,
        _ => assert_eq!(outcome.unwrap_err().kind(), ErrorKind::PeerFailed),
    }
    world.barrier()
}

#[ranks_test::ranks(2, 3)]
fn wishes_that_differ_are_the_same_error_everywhere(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    if world.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let odd = world.rank() == world.size() - 1;
    let spacing = if odd { Spacing::Pages } else { Spacing::Packed };
    let builder = SharedWindow::<u64>::builder(&world).len(4).spacing(spacing);
    assert_eq!(builder.allocate().unwrap_err().kind(), ErrorKind::Mismatch);
    world.barrier()
}

#[ranks_test::ranks(1, 2)]
fn what_no_node_holds_is_the_same_error_everywhere(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let most = if world.rank() == 0 { usize::MAX / 8 } else { 1 };
    let error = SharedWindow::<u64>::allocate(&world, most).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length, "{error}");
    // A petabyte and a half.
    let much = if world.rank() == 0 { 200 << 40 } else { 1 };
    let error = SharedWindow::<u64>::allocate(&world, much).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    world.barrier()
}

/// Their number is more than one slice has, which was an error of a lack of addresses.
#[ranks_test::ranks(1, 2, 3)]
fn elements_of_no_size_may_be_as_many_as_a_slice_has(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let window = SharedWindow::<()>::allocate(&world, usize::MAX)?.fence()?;
    let whole = window.whole().map(<[()]>::len);
    assert_eq!(whole, (world.size() == 1).then_some(usize::MAX));
    for rank in 0..world.size() {
        assert_eq!(window.segment(rank).len(), usize::MAX);
    }
    window.free()
}

/// The rank that is waited for needs the one that waits to go on with its message.
#[ranks_test::ranks(2)]
fn who_waits_lets_messages_through(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    if world.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let writing = SharedWindow::<u64>::allocate(&world, 1)?;
    let length = 1 << 18;
    match world.rank() {
        0 => {
            let request = world.isend(vec![7u64; length], 1, 0)?;
            writing.fence()?.free()?;
            request.wait()?;
        }
        1 => {
            let mut message = vec![0u64; length];
            world.recv(&mut message, 0, 0)?;
            assert!(message.iter().all(|&word| word == 7));
            writing.fence()?.free()?;
        }
        _ => writing.fence()?.free()?,
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, threads = funneled)]
fn threads_that_may_not_communicate_may_read(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let reading = SharedWindow::<u64>::allocate(&world, 1)?.fence()?;
    let add = || reading.segments().map(|segment| segment[0]).sum::<u64>();
    assert_eq!(
        std::thread::scope(|scope| scope.spawn(add).join().unwrap()),
        0
    );
    let fence = || reading.fence().map(drop);
    let refused = std::thread::scope(|scope| scope.spawn(fence).join().unwrap());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::WrongThread);
    world.barrier()
}

#[ranks_test::ranks(1, 2)]
#[should_panic = "rank 2 has no segment"]
fn a_rank_that_is_not_there_has_no_segment(world: Communicator) {
    let world = world.split_shared(0).unwrap();
    let reading = SharedWindow::<u64>::allocate(&world, 1)
        .unwrap()
        .fence()
        .unwrap();
    assert_eq!(reading.len_of(2), 0);
    assert_eq!(reading.segment(2).len(), 1);
}
