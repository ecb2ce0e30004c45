//! Deferred, collective `MPI_Comm_free` of the communicators that were made from one parent.
//!
//! `MPI_Comm_free` is collective, and each rank drops its handles at a time of its own. So a
//! dropped communicator waits until the next collective call that makes communicators from the same
//! parent. There the ranks agree on those that all of them have dropped, and free these, in the
//! order of their creation.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The communicators made from one parent, by number; a number means the same on every rank of the
/// parent.
#[derive(Debug, Default)]
pub(crate) struct Children(Mutex<Numbered>);

#[derive(Debug, Default)]
struct Numbered {
    next: u64,
    /// Those that the ranks have not agreed to free, by number.
    slots: Vec<(u64, Slot)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Alive,
    /// Dropped on this rank; the key under which the session keeps it.
    Dropped(u64),
    /// This rank has nothing here: it belongs to no part, or freed it, or could not make it.
    Nothing,
}

impl Children {
    fn lock(&self) -> MutexGuard<'_, Numbered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next child. Every rank of the parent takes one in each call that makes
    /// children.
    pub(crate) fn number(&self) -> u64 {
        let mut children = self.lock();
        let number = children.next;
        children.slots.push((number, Slot::Nothing));
        children.next += 1;
        number
    }

    pub(crate) fn is_alive(&self, number: u64) {
        self.set(number, Slot::Alive);
    }

    pub(crate) fn is_dropped(&self, number: u64, key: u64) {
        self.set(number, Slot::Dropped(key));
    }

    pub(crate) fn is_freed(&self, number: u64) {
        self.set(number, Slot::Nothing);
    }

    fn set(&self, number: u64, slot: Slot) {
        let mut children = self.lock();
        let index = children
            .slots
            .binary_search_by_key(&number, |(number, _)| *number);
        if let Some((_, place)) = index.ok().and_then(|index| children.slots.get_mut(index)) {
            *place = slot;
        }
    }

    /// A bit for each of the first 64 children that this rank has finished with; those that it has
    /// dropped only if `can_go` says so of their key. `None` if there are none, which is so on
    /// every rank or on none.
    pub(crate) fn done(&self, can_go: impl Fn(u64) -> bool) -> Option<u64> {
        let children = self.lock();
        if children.slots.is_empty() {
            return None;
        }
        let slots = children.slots.iter().take(64).enumerate();
        Some(
            slots
                .filter(|(_, (_, slot))| match slot {
                    Slot::Alive => false,
                    Slot::Dropped(key) => can_go(*key),
                    Slot::Nothing => true,
                })
                .fold(0, |mask, (bit, _)| mask | 1 << bit),
        )
    }

    /// The keys of those to free now, in order of creation, given the bits of all ranks.
    pub(crate) fn agree(&self, done_by_all: u64) -> Vec<u64> {
        let mut children = self.lock();
        let mut keys = Vec::new();
        let mut bits = (0..64).map(|bit| done_by_all & 1 << bit != 0);
        // Only those agreed upon are removed, so that the first 64 stay the same everywhere.
        children.slots.retain(|(_, slot)| {
            let goes = bits.next().unwrap_or(false);
            if let (true, Slot::Dropped(key)) = (goes, slot) {
                keys.push(*key);
            }
            !goes
        });
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
        assert_eq!(children.done(|_| true), Some(0b101));
        // Another rank still holds the third.
        assert_eq!(children.agree(0b001), [10]);
        assert_eq!(children.done(|_| true), Some(0b10));
        assert_eq!(children.agree(0b10), [30]);
        assert_eq!(children.number(), 3);
    }

    #[test]
    fn one_that_lives_on_does_not_keep_later_ones() {
        let children = Children::default();
        children.is_alive(children.number());
        for _ in 0..1000 {
            let number = children.number();
            children.is_dropped(number, number);
            assert_eq!(children.done(|_| true), Some(0b10));
            assert_eq!(children.agree(0b10), [number]);
        }
    }

    #[test]
    fn what_is_still_in_use_stays() {
        let children = Children::default();
        let number = children.number();
        children.is_alive(number);
        children.is_dropped(number, 10);
        assert_eq!(children.done(|key| key != 10), Some(0));
        assert_eq!(children.agree(0), [0; 0]);
        assert_eq!(children.done(|_| true), Some(1));
    }

    #[test]
    fn a_rank_that_belongs_to_no_part_is_done_with_it() {
        let children = Children::default();
        assert_eq!(children.done(|_| true), None);
        children.number();
        assert_eq!(children.done(|_| true), Some(1));
        assert_eq!(children.agree(1), [0; 0]);
        assert_eq!(children.done(|_| true), None);
    }

    #[test]
    fn numbers_that_are_gone_are_ignored() {
        let children = Children::default();
        let number = children.number();
        children.agree(1);
        children.is_dropped(number, 1);
        assert_eq!(children.done(|_| true), None);
    }
}
