//! Which communicators were made from one, and when all ranks agree that one of them is done with.
//!
//! `MPI_Comm_free` is collective, and handles are dropped on each rank when it likes. So a dropped communicator waits
//! until the next collective call that makes communicators from the same parent. There the ranks agree on those that
//! all of them have dropped, and free these, in the order of their creation.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The communicators made from one parent, by number; a number means the same on every rank of the parent.
#[derive(Debug, Default)]
pub(super) struct Children(Mutex<Numbered>);

#[derive(Debug, Default)]
struct Numbered {
    /// The number of the first slot.
    first: u64,
    slots: VecDeque<Slot>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Alive,
    /// Dropped on this rank; the key under which the session has put it aside.
    Dropped(u64),
    /// This rank has nothing here: it belongs to no part, or freed it, or could not make it.
    Nothing,
}

impl Children {
    fn lock(&self) -> MutexGuard<'_, Numbered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next child. Every rank of the parent takes one in each call that makes children.
    pub(super) fn number(&self) -> u64 {
        let mut children = self.lock();
        children.slots.push_back(Slot::Nothing);
        children.first + children.slots.len() as u64 - 1
    }

    pub(super) fn is_alive(&self, number: u64) {
        self.set(number, Slot::Alive);
    }

    pub(super) fn is_dropped(&self, number: u64, key: u64) {
        self.set(number, Slot::Dropped(key));
    }

    pub(super) fn is_freed(&self, number: u64) {
        self.set(number, Slot::Nothing);
    }

    fn set(&self, number: u64, slot: Slot) {
        let mut children = self.lock();
        let index = number.checked_sub(children.first);
        let index = index.and_then(|index| usize::try_from(index).ok());
        if let Some(place) = index.and_then(|index| children.slots.get_mut(index)) {
            *place = slot;
        }
    }

    /// Which of the first 64 children this rank is done with, a bit each; `None` if there are none, which is so on
    /// every rank or on none.
    pub(super) fn done(&self) -> Option<u64> {
        let children = self.lock();
        if children.slots.is_empty() {
            return None;
        }
        let slots = children.slots.iter().take(64).enumerate();
        Some(
            slots
                .filter(|(_, slot)| **slot != Slot::Alive)
                .fold(0, |mask, (bit, _)| mask | 1 << bit),
        )
    }

    /// The keys of those to free now, in order of creation, given what all ranks are done with.
    pub(super) fn agree(&self, done_by_all: u64) -> Vec<u64> {
        let mut children = self.lock();
        let mut keys = Vec::new();
        for (bit, slot) in children.slots.iter_mut().take(64).enumerate() {
            if done_by_all & 1 << bit != 0 {
                if let Slot::Dropped(key) = *slot {
                    keys.push(key);
                }
                *slot = Slot::Nothing;
            }
        }
        // Only what is agreed upon may move the numbers, so that they stay the same everywhere.
        for _ in 0..done_by_all.trailing_ones() {
            if children.slots.pop_front().is_some() {
                children.first += 1;
            }
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_all_ranks_dropped_is_freed_in_order() {
        let children = Children::default();
        let numbers: Vec<u64> = (0..3).map(|_| children.number()).collect();
        numbers.iter().for_each(|&number| children.is_alive(number));
        children.is_dropped(numbers[2], 30);
        children.is_dropped(numbers[0], 10);
        assert_eq!(children.done(), Some(0b101));
        // Another rank still holds the third.
        assert_eq!(children.agree(0b001), [10]);
        assert_eq!(children.done(), Some(0b10));
        assert_eq!(children.agree(0b10), [30]);
        assert_eq!(children.number(), 3);
    }

    #[test]
    fn a_rank_that_belongs_to_no_part_is_done_with_it() {
        let children = Children::default();
        assert_eq!(children.done(), None);
        children.number();
        assert_eq!(children.done(), Some(1));
        assert_eq!(children.agree(1), [0; 0]);
        assert_eq!(children.done(), None);
    }

    #[test]
    fn numbers_that_are_gone_are_ignored() {
        let children = Children::default();
        let number = children.number();
        children.agree(1);
        children.is_dropped(number, 1);
        assert_eq!(children.done(), None);
    }
}
