//! Locks of segments.

use std::thread;

use super::locks::Lock;
use crate::models::{Memory, shared};

/// Nobody else holds what one holds exclusively, and the next one sees what it did. Fails if the
/// exchange of `try_exclusive`, or the store in `leave`, is relaxed.
pub(crate) fn exclusive_locks_exclude() {
    let it = shared((Lock::default(), Memory::default()));
    let add = |(lock, memory): &(Lock, Memory)| {
        let waiting = lock.wait();
        while !lock.try_exclusive() {
            thread::yield_now();
        }
        drop(waiting);
        memory.add(1);
        lock.leave();
    };
    let other = it.clone();
    let other = thread::spawn(move || add(&other));
    add(&it);
    other.join().unwrap();
    assert!(it.0.try_exclusive());
    assert_eq!(it.1.read(), 2);
}

/// Two who read never are there with one who writes, and read what was written if they come later.
/// Fails if the update in `try_shared`, or the subtraction in `leave`, is relaxed.
pub(crate) fn shared_locks_exclude_exclusive_ones() {
    let it = shared((Lock::default(), Memory::default()));
    let readers = [true, false].map(|lets_pass| {
        let it = it.clone();
        thread::spawn(move || {
            let (lock, memory) = &*it;
            if lock.try_shared(lets_pass) {
                assert!(memory.read() <= 1);
                lock.leave();
            }
        })
    });
    let (lock, memory) = &*it;
    if lock.try_exclusive() {
        memory.write(1);
        lock.leave();
    }
    for reader in readers {
        reader.join().unwrap();
    }
    assert!(lock.try_exclusive());
}
