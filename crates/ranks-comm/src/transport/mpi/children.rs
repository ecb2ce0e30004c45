//! Deferred, collective `MPI_Comm_free` of the communicators that were made from one parent.
//!
//! `MPI_Comm_free` is collective, and each rank drops its handles at a time of its own. So a
//! dropped communicator waits until the next collective call that makes communicators from the same
//! parent. There the ranks agree on those that all of them have dropped, and free these, in the
//! order of their creation.
//!
//! There is no such call once the parent was dropped. What is left then is freed as in
//! [`free_by_group`](super::free_by_group).

use std::sync::Mutex;

use super::free_by_group::{Dropped, Members};
use crate::call::identity::digest;
use crate::call::lock::lock;

/// The descent of a communicator: a number that is the same on all its ranks, and different for
/// each communicator; 0 if it is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lineage(u64);

impl Lineage {
    pub(crate) const WORLD: Self = Self(1);

    /// That of a communicator with a number of its own.
    pub(crate) fn of_number(number: u64) -> Self {
        Self(digest([number]))
    }

    pub(crate) fn is_unknown(self) -> bool {
        self.0 == 0
    }

    /// That of the child of that number.
    pub(crate) fn child(self, number: u64) -> Self {
        match self.0 {
            0 => self,
            id => Self(digest([id, number])),
        }
    }

    /// Returns `true` for one communicator in eight: when it is made, its ranks free what was left
    /// by parents.
    pub(crate) fn is_due(self) -> bool {
        self.0 != 0 && self.0.is_multiple_of(8)
    }
}

/// The communicators made from one parent, by number; a number means the same on every rank of the
/// parent.
#[derive(Debug, Default)]
pub(crate) struct Children {
    /// The descent of the parent.
    pub(crate) of: Lineage,
    numbered: Mutex<Numbered>,
}

#[derive(Debug, Default)]
struct Numbered {
    next: u64,
    /// Those that the ranks have not agreed to free, by number.
    slots: Vec<(u64, Slot)>,
    /// `true` if the parent was dropped on this rank.
    closed: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Slot {
    Alive,
    /// Dropped on this rank: the key under which the session keeps it, and its ranks.
    Dropped(u64, Members),
    /// This rank has nothing here: it belongs to no part, or freed it, or could not make it.
    Nothing,
}

impl Children {
    /// Those of a communicator of that descent.
    pub(crate) fn of(lineage: Lineage) -> Self {
        Self {
            of: lineage,
            numbered: Mutex::default(),
        }
    }

    /// The number of the next child. Every rank of the parent takes one in each call that makes
    /// children.
    pub(crate) fn number(&self) -> u64 {
        let mut children = lock(&self.numbered);
        let number = children.next;
        children.slots.push((number, Slot::Nothing));
        children.next += 1;
        number
    }

    pub(crate) fn is_alive(&self, number: u64) {
        lock(&self.numbered).set(number, Slot::Alive);
    }

    /// Notes a dropped child. Returns it if its parent was dropped before.
    #[must_use]
    pub(crate) fn is_dropped(&self, number: u64, key: u64, members: Members) -> Option<Dropped> {
        let mut children = lock(&self.numbered);
        if children.closed {
            return Some(self.left(number, key, members));
        }
        children.set(number, Slot::Dropped(key, members));
        None
    }

    /// Notes that the parent was dropped on this rank, so that its ranks agree on nothing more.
    /// Returns the children that were dropped before.
    #[must_use]
    pub(crate) fn close(&self) -> Vec<Dropped> {
        let mut children = lock(&self.numbered);
        children.closed = true;
        let slots = std::mem::take(&mut children.slots).into_iter();
        let dropped = slots.filter_map(|(number, slot)| match slot {
            Slot::Dropped(key, members) => Some(self.left(number, key, members)),
            Slot::Alive | Slot::Nothing => None,
        });
        dropped.collect()
    }

    /// A dropped child, as it is known without its parent.
    fn left(&self, number: u64, key: u64, members: Members) -> Dropped {
        Dropped {
            members,
            number: self.number_everywhere(number),
            key,
        }
    }

    /// The number of a child by which its ranks know it wherever the parent is not known; 0 if
    /// there is none.
    pub(crate) fn number_everywhere(&self, number: u64) -> u64 {
        self.of.child(number).0
    }

    pub(crate) fn is_freed(&self, number: u64) {
        lock(&self.numbered).set(number, Slot::Nothing);
    }

    /// A bit for each of the first 64 children that this rank has finished with; those that it has
    /// dropped only if `can_go` says so of their key. `None` if there are none, which is so on
    /// every rank or on none.
    pub(crate) fn done(&self, can_go: impl Fn(u64) -> bool) -> Option<u64> {
        let children = lock(&self.numbered);
        if children.slots.is_empty() {
            return None;
        }
        let slots = children.slots.iter().take(64).enumerate();
        Some(
            slots
                .filter(|(_, (_, slot))| match slot {
                    Slot::Alive => false,
                    Slot::Dropped(key, _) => can_go(*key),
                    Slot::Nothing => true,
                })
                .fold(0, |mask, (bit, _)| mask | 1 << bit),
        )
    }

    /// The keys of those to free now, in order of creation, given the bits of all ranks.
    pub(crate) fn agree(&self, done_by_all: u64) -> Vec<u64> {
        let mut children = lock(&self.numbered);
        let mut keys = Vec::new();
        let mut bits = (0..64).map(|bit| done_by_all & 1 << bit != 0);
        // Only those agreed upon are removed, so that the first 64 stay the same everywhere.
        children.slots.retain(|(_, slot)| {
            let goes = bits.next().unwrap_or(false);
            if let (true, Slot::Dropped(key, _)) = (goes, slot) {
                keys.push(*key);
            }
            !goes
        });
        keys
    }
}

impl Numbered {
    fn set(&mut self, number: u64, slot: Slot) {
        let slots = &mut self.slots;
        let index = slots.binary_search_by_key(&number, |(number, _)| *number);
        if let Some((_, place)) = index.ok().and_then(|index| slots.get_mut(index)) {
            *place = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Children {
        fn drops(&self, number: u64, key: u64) {
            assert!(self.is_dropped(number, key, Members::default()).is_none());
        }
    }

    #[test]
    fn what_is_dropped_after_its_parent_is_given_up_and_so_is_what_was_before() {
        let children = Children::of(Lineage::WORLD.child(3));
        let numbers: Vec<u64> = (0..3).map(|_| children.number()).collect();
        numbers.iter().for_each(|&number| children.is_alive(number));
        children.drops(numbers[1], 10);
        let before = children.close();
        let after = children
            .is_dropped(numbers[0], 20, Members::from([1, 2]))
            .unwrap();
        assert_eq!(before.iter().map(|one| one.key).collect::<Vec<_>>(), [10]);
        assert_eq!((after.key, &*after.members), (20, &[1, 2][..]));
        assert_ne!(before[0].number, after.number);
        // The number is the same where the order was another.
        let elsewhere = Children::of(Lineage::WORLD.child(3));
        assert!(elsewhere.close().is_empty());
        let again = elsewhere.is_dropped(numbers[1], 7, Members::default());
        assert_eq!(again.unwrap().number, before[0].number);
        // Of what is of unknown descent nothing is known.
        assert_eq!(Lineage::default().child(1), Lineage::default());
    }

    #[test]
    fn only_what_all_ranks_dropped_is_freed_in_order() {
        let children = Children::default();
        let numbers: Vec<u64> = (0..3).map(|_| children.number()).collect();
        numbers.iter().for_each(|&number| children.is_alive(number));
        children.drops(numbers[2], 30);
        children.drops(numbers[0], 10);
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
            children.drops(number, number);
            assert_eq!(children.done(|_| true), Some(0b10));
            assert_eq!(children.agree(0b10), [number]);
        }
    }

    #[test]
    fn what_is_still_in_use_stays() {
        let children = Children::default();
        let number = children.number();
        children.is_alive(number);
        children.drops(number, 10);
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
        children.drops(number, 1);
        assert_eq!(children.done(|_| true), None);
    }
}
