//! Communicators that were made by some ranks of another one (`MPI_Comm_create_group`), or by those
//! of two (`MPI_Intercomm_create`); and those, and what was made from them, whose parent was
//! dropped.
//!
//! There is no parent whose ranks could agree on what to free, as in `children`. But whenever a new
//! one of exactly the same ranks is made, these ranks can agree over the new one. The first of them
//! proposes those that it has dropped; the ones that all of them have dropped are freed. Each has a
//! number that no other one of the job has: the first of its ranks made it, or it is that of its
//! descent.

use std::sync::{Arc, Mutex};

use crate::call::lock::lock;

/// The world ranks of a communicator in order; of an intercommunicator those of both groups.
pub(crate) type Members = Arc<[usize]>;

/// The separator of the groups of an intercommunicator, in [`Members`].
const BETWEEN: usize = usize::MAX;

/// A communicator, or an object made from one, that was dropped on this rank and has no parent.
#[derive(Debug)]
pub(crate) struct Dropped {
    pub(crate) members: Members,
    pub(crate) number: u64,
    /// The key under which the session keeps it.
    pub(crate) key: u64,
}

/// The dropped communicators whose free is deferred, in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct FreeByGroup(Mutex<Vec<Dropped>>);

impl FreeByGroup {
    /// Notes what was dropped. Number 0 is that of one that did not get any.
    pub(crate) fn are_dropped(&self, all: impl IntoIterator<Item = Dropped>) {
        for dropped in all {
            if dropped.number != 0 && !dropped.members.is_empty() {
                let mut waiting = lock(&self.0);
                let place = waiting.partition_point(|other| other.number < dropped.number);
                waiting.insert(place, dropped);
            }
        }
    }

    /// Takes out those of the lowest numbers whose key `can_go`, so that nobody else proposes them.
    pub(crate) fn take_some(
        &self,
        members: &Members,
        most: usize,
        can_go: impl Fn(u64) -> bool,
    ) -> Vec<(u64, u64)> {
        let mut taken = Vec::new();
        lock(&self.0).retain(|dropped| {
            let goes = taken.len() < most && dropped.members == *members && can_go(dropped.key);
            if goes {
                taken.push((dropped.number, dropped.key));
            }
            !goes
        });
        taken
    }

    /// Takes out the key of that number, if it is dropped here and `can_go`.
    pub(crate) fn take(
        &self,
        members: &Members,
        number: u64,
        can_go: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let mut waiting = lock(&self.0);
        let is_it = |dropped: &Dropped| dropped.number == number && dropped.members == *members;
        let place = waiting.iter().position(is_it)?;
        can_go(waiting[place].key).then(|| waiting.remove(place).key)
    }
}

/// The members of an intercommunicator, the same on both sides. The groups have no rank in common.
pub(crate) fn of_both(mine: &[usize], theirs: &[usize]) -> Members {
    let (first, second) = if mine.first() < theirs.first() {
        (mine, theirs)
    } else {
        (theirs, mine)
    };
    let between = std::iter::once(&BETWEEN);
    first.iter().chain(between).chain(second).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_proposed_by_nobody_else() {
        let (apart, members) = (FreeByGroup::default(), Members::from([3, 1]));
        let drop_all = |numbers: &[u64]| {
            apart.are_dropped(numbers.iter().map(|&number| Dropped {
                members: Arc::clone(&members),
                number,
                key: 10 * number,
            }));
        };
        drop_all(&[9, 7, 8, 0]);
        assert_eq!(apart.take_some(&members, 2, |key| key == 90), [(9, 90)]);
        drop_all(&[9]);
        assert_eq!(apart.take_some(&members, 2, |_| true), [(7, 70), (8, 80)]);
        assert_eq!(apart.take(&members, 8, |_| true), None);
        assert_eq!(apart.take(&Members::from([1, 3]), 9, |_| true), None);
        assert_eq!(apart.take(&members, 9, |_| true), Some(90));
        assert!(apart.take_some(&members, 2, |_| true).is_empty());
        assert!(lock(&apart.0).is_empty());
    }

    #[test]
    fn both_sides_know_an_intercommunicator_by_the_same_members() {
        let here = of_both(&[4, 1], &[2, 0, 3]);
        assert_eq!(here, of_both(&[2, 0, 3], &[4, 1]));
        assert_eq!(*here, [2, 0, 3, BETWEEN, 4, 1]);
    }
}
