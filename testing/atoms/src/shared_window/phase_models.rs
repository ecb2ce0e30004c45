//! Phases of a shared window.

use std::thread;

use super::steps::{Goal, Mark, Step};
use crate::Communicator;
use crate::models::{Memory, shared};

/// The memory that each rank has written before it arrived is read by all after the step, and
/// written anew after the next one; three steps take turns with two words. Fails if the store in
/// `arrive`, or the load in `has`, is relaxed.
pub(crate) fn memory_of_a_phase_is_read_in_the_next() {
    let marks = || -> Vec<Mark> { (0..2).map(|_| Mark::default()).collect() };
    let memory = || -> Vec<Memory> { (0..2).map(|_| Memory::default()).collect() };
    let it = shared((marks(), memory()));
    let rank = |(marks, memory): &(Vec<Mark>, Vec<Memory>), me: usize| {
        let mut step = Step::first(me);
        let mut go_on_to = |goal| {
            step.arrive("SharedWindow::fence", marks, goal);
            step.wait(marks, &Communicator).unwrap();
        };
        memory[me].write(1);
        go_on_to(Goal::Read);
        assert_eq!(memory[1 - me].read(), 1);
        go_on_to(Goal::Write);
        memory[me].write(2);
        go_on_to(Goal::Read);
        assert_eq!(memory[1 - me].read(), 2);
    };
    let other = it.clone();
    let other = thread::spawn(move || rank(&other, 1));
    rank(&it, 0);
    other.join().unwrap();
}
