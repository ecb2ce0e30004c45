//! Contexts on which ranks agree without messages, where not all ranks of a communicator take part
//! or those of two do.

use std::sync::{Arc, Mutex};

use crate::call::lock::lock;

/// The purpose of a context. Ranks that ask for the same purpose from the same context find the
/// same one, in the order in which each of them asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A communicator of these world ranks, under a tag.
    Group(Arc<[usize]>, i32),
    /// A duplicate of an intercommunicator.
    Dup,
    /// One communicator of the two groups.
    Merge,
}

/// A context that some ranks have not asked for yet.
#[derive(Debug)]
struct Agreement {
    purpose: (u64, Purpose),
    context: u64,
    /// World ranks.
    outstanding: Vec<usize>,
}

/// The pending agreements of the ranks of a world, in the order in which the first rank asked.
#[derive(Debug, Default)]
pub(crate) struct Agreements(Mutex<Vec<Agreement>>);

impl Agreements {
    /// The context for the rank `me`, one of `ranks`; `new` makes one if it is the first.
    pub(crate) fn find(
        &self,
        purpose: (u64, Purpose),
        me: usize,
        ranks: &[usize],
        new: impl FnOnce() -> u64,
    ) -> u64 {
        let mut all = lock(&self.0);
        let is_mine = |agreement: &Agreement| {
            agreement.purpose == purpose && agreement.outstanding.contains(&me)
        };
        let mine = all.iter().position(is_mine).unwrap_or_else(|| {
            all.push(Agreement {
                purpose,
                context: new(),
                outstanding: ranks.to_vec(),
            });
            all.len() - 1
        });
        let context = all[mine].context;
        all[mine].outstanding.retain(|&rank| rank != me);
        if all[mine].outstanding.is_empty() {
            all.remove(mine);
        }
        context
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finds_them_in_its_own_order() {
        let agreements = Agreements::default();
        let mut next = 0;
        let mut find = |me: usize| {
            agreements.find((0, Purpose::Merge), me, &[1, 4, 7], || {
                next += 1;
                next
            })
        };
        assert_eq!((find(4), find(4), find(1)), (1, 2, 1));
        assert_eq!((find(7), find(7), find(7)), (1, 2, 3));
        assert_eq!((find(1), find(1), find(4)), (2, 3, 3));
        assert!(agreements.0.lock().unwrap().is_empty());
    }

    #[test]
    fn purposes_are_apart() {
        let agreements = Agreements::default();
        let group = |tag| Purpose::Group([0, 1].into(), tag);
        let find = |me, purpose, new| agreements.find(purpose, me, &[0, 1], || new);
        assert_eq!(find(0, (0, group(1)), 10), 10);
        assert_eq!(find(1, (0, group(2)), 20), 20);
        assert_eq!(find(1, (2, group(1)), 30), 30);
        assert_eq!(find(1, (0, group(1)), 40), 10);
    }
}
