//! Threads that call at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::{Memory, shared};
use crate::ErrorKind;
use crate::call::deferred::Deferred;
use crate::call::fast_path::FastPath;
use crate::call::inside::Inside;
use crate::call::thread_guard::ThreadGuard;
use crate::call::thread_level::ThreadLevel;

/// Two threads never are inside at the same time, one of them gets in, and one that comes later
/// sees what was done inside. Fails if the exchange in `enter`, or the store in `leave`, is
/// relaxed.
pub(super) fn one_thread_alone_is_inside() {
    let it = shared((Inside::new(), Memory::default(), AtomicUsize::new(0)));
    let enter = |(inside, memory, entered): &(Inside, Memory, AtomicUsize)| {
        if let Some(depth) = inside.enter() {
            assert_eq!(depth, 0);
            // Within itself a thread gets in again.
            assert_eq!(inside.enter(), Some(1));
            inside.leave();
            memory.add(1);
            entered.fetch_add(1, Ordering::Relaxed);
            inside.leave();
        }
    };
    let other = it.clone();
    let other = thread::spawn(move || enter(&other));
    enter(&it);
    other.join().unwrap();
    let entered = it.2.load(Ordering::Relaxed);
    assert!(entered > 0);
    assert_eq!(it.1.read(), entered as u64);
}

/// The same of calls at `MPI_THREAD_SERIALIZED`; the one that is refused is told why.
pub(super) fn two_calls_at_the_serialized_level() {
    let it = shared((ThreadGuard::new(), Memory::default()));
    it.0.set_level(ThreadLevel::Serialized);
    let call = |(guard, memory): &(ThreadGuard, Memory)| match guard.enter("MPI_Send") {
        Ok(alone) => {
            assert!(alone.is_some());
            memory.add(1);
            1
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WrongThread);
            0
        }
    };
    let other = it.clone();
    let other = thread::spawn(move || call(&other));
    let mine = call(&it);
    let both = mine + other.join().unwrap();
    assert!(both > 0);
    assert_eq!(it.1.read(), both);
}

/// A thread that learns of a hold finds the fast path closed, whatever other threads hold and
/// release meanwhile; it is open again when all have released it. Fails if `change` stores after it
/// has let go of its lock.
pub(super) fn held_fast_path_takes_nothing() {
    let it = shared((FastPath::new(), AtomicBool::new(false)));
    it.0.open(ThreadLevel::Multiple);
    assert!(it.0.takes(1));
    let (holder, other) = (it.clone(), it.clone());
    let holder = thread::spawn(move || {
        holder.0.hold();
        holder.1.store(true, Ordering::Release);
    });
    let other = thread::spawn(move || {
        other.0.hold();
        other.0.release();
    });
    if it.1.load(Ordering::Acquire) {
        assert!(!it.0.takes(1));
    }
    holder.join().unwrap();
    other.join().unwrap();
    assert!(!it.0.takes(1));
    it.0.release();
    assert!(it.0.takes(1));
}

/// A thread that sees that the gate is closed sees what was done before. Fails if `close` is
/// relaxed, or the load of `is_closed`.
pub(super) fn a_closed_gate_refuses() {
    let it = shared((ThreadGuard::new(), Memory::default()));
    it.0.set_level(ThreadLevel::Multiple);
    let ends = it.clone();
    let ends = thread::spawn(move || {
        ends.1.write(1);
        ends.0.close();
    });
    match it.0.enter("MPI_Send") {
        Ok(alone) => assert!(alone.is_none()),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Finalized);
            assert_eq!(it.1.read(), 1);
        }
    }
    ends.join().unwrap();
    assert!(it.0.is_closed());
}

/// Work, and the number of pieces that are done.
type Left = (Deferred, Arc<AtomicUsize>);

/// Of work that threads leave while another one takes it none is lost, and none is done twice: it
/// is done by whoever sees the flag. Fails if `take` clears the flag after it has let go of the
/// lock.
pub(super) fn work_that_is_left_is_done_once() {
    let it = Arc::new((Deferred::new(), shared(AtomicUsize::new(0))));
    assert!(!it.0.is_any());
    let leave = |it: &Left| {
        let done = it.1.clone();
        it.0.leave(move || {
            done.fetch_add(1, Ordering::Relaxed);
        });
    };
    let do_it = |it: &Left| {
        if it.0.is_any() {
            it.0.take().into_iter().for_each(|work| work());
        }
    };
    let other = it.clone();
    let other = thread::spawn(move || {
        leave(&other);
        do_it(&other);
    });
    leave(&it);
    do_it(&it);
    other.join().unwrap();
    do_it(&it);
    assert_eq!(it.1.load(Ordering::Relaxed), 2);
}
