//! Communicators that were made by some ranks of another one (`MPI_Comm_create_group`), or by those
//! of two (`MPI_Intercomm_create`).
//!
//! There is no parent whose ranks could agree on what to free, as in `children`. But whenever a new
//! one of exactly the same ranks is made, these ranks can agree over the new one. The first of them
//! proposes those that it has dropped; the ones that all of them have dropped are freed. Each has a
//! number that the first of its ranks made, which no other communicator of the job has.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The world ranks of a communicator in order; of an intercommunicator those of both groups.
pub(crate) type Members = Arc<[usize]>;

/// The separator of the groups of an intercommunicator, in [`Members`].
const BETWEEN: usize = usize::MAX;

/// The dropped communicators whose free is deferred: by members, and by number the key under which
/// the session keeps them.
#[derive(Debug, Default)]
pub(crate) struct FreeByGroup(Mutex<HashMap<Members, BTreeMap<u64, u64>>>);

impl FreeByGroup {
    fn lock(&self) -> MutexGuard<'_, HashMap<Members, BTreeMap<u64, u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a dropped communicator. Number 0 is that of one that did not get any.
    pub(crate) fn is_dropped(&self, members: &Members, number: u64, key: u64) {
        if number != 0 {
            let mut waiting = self.lock();
            let same = waiting.entry(Arc::clone(members)).or_default();
            same.insert(number, key);
        }
    }

    /// Takes out those of the lowest numbers, so that nobody else proposes them.
    pub(crate) fn take_some(&self, members: &Members, most: usize) -> Vec<(u64, u64)> {
        let mut waiting = self.lock();
        let Some(same) = waiting.get_mut(members) else {
            return Vec::new();
        };
        let mut taken = Vec::new();
        while taken.len() < most {
            let Some(first) = same.pop_first() else { break };
            taken.push(first);
        }
        if same.is_empty() {
            waiting.remove(members);
        }
        taken
    }

    /// Takes out the key of that number, if it is dropped here.
    pub(crate) fn take(&self, members: &Members, number: u64) -> Option<u64> {
        let mut waiting = self.lock();
        let same = waiting.get_mut(members)?;
        let key = same.remove(&number);
        if same.is_empty() {
            waiting.remove(members);
        }
        key
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
        for number in [9, 7, 8, 0] {
            apart.is_dropped(&members, number, 10 * number);
        }
        assert_eq!(apart.take_some(&members, 2), [(7, 70), (8, 80)]);
        assert_eq!(apart.take(&members, 8), None);
        assert_eq!(apart.take(&Members::from([1, 3]), 9), None);
        assert_eq!(apart.take(&members, 9), Some(90));
        assert!(apart.take_some(&members, 2).is_empty());
        assert!(apart.lock().is_empty());
    }

    #[test]
    fn both_sides_know_an_intercommunicator_by_the_same_members() {
        let here = of_both(&[4, 1], &[2, 0, 3]);
        assert_eq!(here, of_both(&[2, 0, 3], &[4, 1]));
        assert_eq!(*here, [2, 0, 3, BETWEEN, 4, 1]);
    }
}
