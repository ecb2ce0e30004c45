//! Partitions of messages.

use std::thread;

use super::{Memory, shared};
use crate::op::arrivals::Arrivals;
use crate::op::states::{FREE, READY, States, TAKEN};

/// A partition has one writer at a time, who sees what the one before has written, and none any
/// more when it is ready; whoever makes it ready sees all of it. Fails if the exchange in `step`,
/// or the store in `put_back`, is relaxed.
pub(super) fn a_partition_has_one_writer() {
    let it = shared((States::new(1), Memory::default()));
    let write = |(states, memory): &(States, Memory)| {
        if states.step(0, FREE, TAKEN).is_ok() {
            memory.add(1);
            states.put_back(0, FREE);
        }
    };
    let writers = [0, 1].map(|_| {
        let it = it.clone();
        thread::spawn(move || write(&it))
    });
    let (states, memory) = &*it;
    match states.step_all(&[0], FREE, READY) {
        Ok(()) => assert!(memory.read() <= 2),
        Err(found) => assert_eq!(found, (0, Some(TAKEN))),
    }
    for writer in writers {
        writer.join().unwrap();
    }
}

/// Of two lists that have a partition in common one is made ready and the other is not, none of it.
/// Fails if `step_all` leaves those before the one that it could not move.
pub(super) fn all_of_a_list_is_ready_or_nothing() {
    let it = shared(States::new(3));
    let other = it.clone();
    let other = thread::spawn(move || other.step_all(&[0, 2], FREE, READY).is_ok());
    let mine = it.step_all(&[1, 2], FREE, READY).is_ok();
    let theirs = other.join().unwrap();
    assert!(mine != theirs);
    assert_eq!(it.unready(), [if mine { 0 } else { 1 }]);
}

/// Two threads copy the halves of a partition to their place: whoever finds that all of it has
/// arrived reads both. Fails if the addition in `note`, or the load in `is_whole`, is relaxed.
pub(super) fn what_has_arrived_is_read() {
    let it = shared((Arrivals::new(1, 8), [Memory::default(), Memory::default()]));
    let halves = [0, 1].map(|half| {
        let it = it.clone();
        thread::spawn(move || {
            it.1[half].write(1);
            it.0.note(4 * half..4 * half + 4);
        })
    });
    if it.0.has(0) {
        assert!(it.1.iter().all(|half| half.read() == 1));
    }
    for half in halves {
        half.join().unwrap();
    }
    assert!(it.0.has_all());
}
