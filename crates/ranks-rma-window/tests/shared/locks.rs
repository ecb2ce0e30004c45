//! The phase of locks: who reads and who writes, while the others do as they like.

use std::mem;
use std::thread;
use std::time::Duration;

use ranks_collectives::Collectives;
use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_rma_window::SharedWindow;
use ranks_rma_window::phase::Passive;

/// The text of the error of a lock that cannot be had.
fn late<R>(node: &Communicator, lock: impl FnOnce() -> Result<R>) -> Result<String> {
    let limit = Duration::from_millis(200);
    let outcome = node.within(limit, |_| Ok::<_, Error>(lock().map(drop)))?;
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    Ok(error.to_string())
}

fn refused<R>(outcome: Result<R>) -> ErrorKind {
    outcome.map(drop).unwrap_err().kind()
}

fn allocate(node: &Communicator, len: usize) -> Result<SharedWindow<u64, Passive>> {
    SharedWindow::<u64>::allocate(node, len)?.passive()
}

/// Elements that are read and then written under an exclusive lock are not changed by others in
/// between, and no reader sees half of it.
#[ranks_test::ranks(1, 2, 3, 4)]
fn additions_under_exclusive_locks_are_not_lost(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    let (each, last) = (if cfg!(miri) { 5 } else { 300 }, node.size() - 1);
    let window = allocate(&node, 20)?;
    for round in 0..each {
        let mut counts = window.lock_exclusive(last)?;
        let before = counts[0];
        assert!(counts.iter().all(|&count| count == before));
        counts.iter_mut().for_each(|count| *count += 1);
        drop(counts);
        let counts = window.lock_shared(last)?;
        assert!(counts[0] > before, "round {round}");
        assert!(counts.iter().all(|&count| count == counts[0]));
    }
    let reading = window.fence()?.fence()?;
    assert_eq!(reading.segment(last), [(each * node.size()) as u64; 20]);
    reading.free()
}

#[ranks_test::ranks(1, 2, 3)]
fn readers_hold_locks_together(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    let (rank, size) = (node.rank(), node.size());
    let window = allocate(&node, 2)?;
    window.lock_exclusive(rank)?.fill(rank as u64);
    node.barrier()?;
    let one = window.lock_shared(size - 1)?;
    // All are here, each with its lock.
    node.barrier()?;
    assert_eq!(*one, [size as u64 - 1; 2]);
    drop(one);
    let all = window.lock_all()?;
    node.barrier()?;
    assert_eq!(all.segments().len(), size);
    for (other, segment) in all.segments().enumerate() {
        assert_eq!(segment, [other as u64; 2]);
    }
    assert_eq!(all.segment(rank), [rank as u64; 2]);
    drop(all);
    window.fence()?.free()
}

/// A rank reads what another one has written, which is in no call of the window meanwhile.
#[ranks_test::ranks(2, 3)]
fn a_read_is_not_collective(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    if node.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let window = allocate(&node, 1)?;
    if node.rank() > 0 {
        window.lock_exclusive(node.rank())?[0] = 7;
        node.send(&[1u8], 0, 0)?;
        node.recv(&mut [0u8], 0, 1)?;
    } else {
        for rank in 1..node.size() {
            node.recv(&mut [0u8], rank, 0)?;
            assert_eq!(*window.lock_shared(rank)?, [7]);
        }
        for rank in 1..node.size() {
            node.send(&[1u8], rank, 1)?;
        }
    }
    window.fence()?.free()
}

#[ranks_test::ranks(2, 3)]
fn a_lock_that_another_rank_holds_is_waited_for_until_the_time_limit(
    world: Communicator,
) -> Result<()> {
    let node = world.split_shared(0)?;
    let (rank, last) = (node.rank(), node.size() - 1);
    if node.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let window = allocate(&node, 1)?;
    window.set_name("the queue")?;
    let mut held = (rank == 0)
        .then(|| window.lock_exclusive(last))
        .transpose()?;
    node.barrier()?;
    if let Some(held) = &mut held {
        held[0] = 5;
    } else {
        let text = late(&node, || window.lock_shared(last))?;
        assert!(text.starts_with("SharedWindow::lock_shared"), "{text}");
        assert!(text.contains("of the queue"), "{text}");
        late(&node, || window.lock_exclusive(last))?;
        late(&node, || window.lock_all())?;
    }
    node.barrier()?;
    drop(held);
    node.barrier()?;
    // What was not had is not held: neither by those who waited, nor some of all.
    for other in 0..node.size() {
        assert_eq!(
            window.lock_exclusive(other)?[0],
            if other == last { 5 } else { 0 }
        );
    }
    assert_eq!(window.lock_all()?.segment(last), [5]);
    // A shared one keeps from an exclusive one alone.
    node.barrier()?;
    let held = (rank == 0).then(|| window.lock_shared(last)).transpose()?;
    node.barrier()?;
    if held.is_none() {
        late(&node, || window.lock_exclusive(last))?;
        // Nobody waits any more, whom this one would let pass.
        drop(window.lock_shared(last)?);
    }
    node.barrier()?;
    drop(held);
    window.fence()?.free()
}

#[ranks_test::ranks(2)]
fn ranks_that_wait_for_each_other_end_at_the_time_limit(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    if node.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let window = allocate(&node, 1)?;
    let mine = window.lock_exclusive(node.rank())?;
    node.barrier()?;
    late(&node, || window.lock_exclusive(1 - node.rank()))?;
    node.barrier()?;
    drop(mine);
    window.fence()?.free()
}

#[ranks_test::ranks(1, 2, 3)]
fn a_segment_is_locked_once_by_a_rank(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    let (rank, size) = (node.rank(), node.size());
    let window = allocate(&node, 1)?;
    let shared = window.lock_shared(rank)?;
    assert_eq!(refused(window.lock_exclusive(rank)), ErrorKind::Argument);
    assert_eq!(refused(window.lock_shared(rank)), ErrorKind::Argument);
    assert_eq!(refused(window.lock_all()), ErrorKind::Argument);
    drop(shared);
    let exclusive = window.lock_exclusive(rank)?;
    let error = window.lock_shared(rank).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    let text = error.to_string();
    assert!(
        text.contains(&format!("holds a lock of rank {rank}")),
        "{text}"
    );
    assert_eq!(refused(window.lock_exclusive(rank)), ErrorKind::Argument);
    drop(exclusive);
    node.barrier()?;
    let all = window.lock_all()?;
    assert_eq!(refused(window.lock_all()), ErrorKind::Argument);
    assert_eq!(refused(window.lock_exclusive(rank)), ErrorKind::Argument);
    drop(all);
    assert_eq!(refused(window.lock_shared(size)), ErrorKind::Rank);
    assert_eq!(refused(window.lock_exclusive(usize::MAX)), ErrorKind::Rank);
    node.barrier()?;
    window.fence()?.free()
}

/// A lock whose guard was forgotten is left with the phase, and with the window.
#[ranks_test::ranks(1, 2, 3)]
fn a_forgotten_lock_is_left_with_the_phase(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    let (rank, size) = (node.rank(), node.size());
    let window = allocate(&node, 1)?;
    mem::forget(window.lock_exclusive(rank)?);
    assert_eq!(refused(window.lock_shared(rank)), ErrorKind::Argument);
    let window = window.fence()?.passive()?;
    mem::forget(window.lock_all()?);
    let window = window.fence()?.passive()?;
    window.lock_exclusive((rank + 1) % size)?[0] = 3;
    node.barrier()?;
    let mut window = Some(window);
    if rank == 0 {
        let window = window.take().unwrap();
        mem::forget(window.lock_exclusive(0)?);
        drop(window);
    }
    node.barrier()?;
    if let Some(window) = window {
        assert_eq!(*window.lock_shared(0)?, [3]);
        assert_eq!(refused(window.fence()), ErrorKind::PeerFailed);
    }
    node.barrier()
}

#[ranks_test::ranks(1, 2)]
fn threads_of_a_rank_use_a_lock_together(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    let rank = node.rank();
    let window = allocate(&node, 4)?;
    let mut mine = window.lock_exclusive(rank)?;
    thread::scope(|scope| {
        for (at, place) in mine.iter_mut().enumerate() {
            scope.spawn(move || *place = at as u64);
        }
    });
    // It is dropped by another one.
    thread::scope(|scope| scope.spawn(move || drop(mine)).join().unwrap());
    let shared = window.lock_shared(rank)?;
    let sum = || shared.iter().sum::<u64>();
    let sums = thread::scope(|scope| [scope.spawn(sum), scope.spawn(sum)].map(|sum| sum.join()));
    assert!(sums.into_iter().all(|sum| sum.unwrap() == 6));
    drop(shared);
    window.fence()?.free()
}

#[ranks_test::ranks(2, 3)]
fn locks_and_atomics_are_different_phases(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    if node.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let writing = SharedWindow::<u64>::allocate(&node, 1)?;
    let error = match node.rank() {
        0 => writing.passive().map(drop),
        _ => writing.concurrent().map(drop),
    };
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let text = error.to_string();
    let called = ["SharedWindow::passive: ", "SharedWindow::concurrent: "];
    assert!(text.starts_with(called[node.rank().min(1)]), "{text}");
    let both = ["the phase Passive", "the phase Concurrent"];
    assert!(both.iter().all(|phase| text.contains(phase)), "{text}");
    world.barrier()
}

/// Writers are not kept out for ever by readers that take turns.
#[ranks_test::ranks(3, 4)]
fn a_writer_comes_in_between_readers(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    let window = allocate(&node, 1)?;
    if node.rank() == 0 {
        for value in 1..=10 {
            window.lock_exclusive(0)?[0] = value;
        }
    } else {
        let mut seen = 0;
        while seen < 10 {
            let now = window.lock_shared(0)?;
            assert!(now[0] >= seen);
            seen = now[0];
        }
    }
    window.fence()?.free()
}
