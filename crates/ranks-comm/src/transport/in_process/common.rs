//! The object that the ranks of a communicator have in common.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::board::Board;
use super::exchange::Joined;
use super::meetings::Meetings;
use super::share::Shared;
use super::survivors::{Outcome, Word};
use crate::call::lock::lock;

/// The one object of the ranks of a communicator; it goes with the last of them.
#[derive(Debug)]
pub(crate) struct Common {
    pub(super) board: Board,
    pub(super) exchanges: Meetings<Vec<u8>, Joined>,
    pub(super) agreements: Meetings<Word, Outcome>,
    pub(super) shared: Meetings<Option<Shared>, Option<Shared>>,
    /// Those of communicators that are made of this one: what a rank never makes goes with it.
    pub(crate) children: Commons,
}

impl Common {
    fn new(ranks: usize) -> Self {
        Self {
            board: Board::new(ranks),
            exchanges: Meetings::new(ranks),
            agreements: Meetings::new(ranks),
            shared: Meetings::new(ranks),
            children: Commons::default(),
        }
    }
}

/// The context of a communicator, and its first member: the groups of an intercommunicator share a
/// context.
type Key = (u64, Option<usize>);

/// Those of communicators that not all of their ranks have made yet, with the number of these
/// ranks.
#[derive(Debug, Default)]
pub(crate) struct Commons(Mutex<HashMap<Key, (Arc<Common>, usize)>>);

impl Commons {
    /// That of a communicator of these ranks of the world; for each of them once.
    pub(crate) fn find(&self, context: u64, members: &[usize]) -> Arc<Common> {
        let key = (context, members.first().copied());
        let mut all = lock(&self.0);
        let new = || (Arc::new(Common::new(members.len())), members.len());
        let (common, others) = all.entry(key).or_insert_with(new);
        let common = Arc::clone(common);
        *others = others.saturating_sub(1);
        if *others == 0 {
            all.remove(&key);
        }
        common
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::call::checks::{Checks, Comparing};
    use crate::call::thread_level::ThreadLevel;
    use crate::transport::in_process::comm::Comm;
    use crate::transport::in_process::membership::Membership;
    use crate::transport::in_process::world::World;

    /// A program that runs for long kept some of each meeting, or of each communicator.
    #[test]
    fn meetings_leave_nothing_behind() {
        const MEETINGS: u32 = if cfg!(miri) { 10 } else { 100_000 };
        let world = Arc::new(World::new(2));
        let comparing = Comparing {
            checks: Checks::Local,
            limit: Duration::MAX,
        };
        let of = |rank: usize| {
            let place = Membership::new(world.clone(), rank, ThreadLevel::Multiple, comparing);
            Comm::world(Arc::new(place))
        };
        let run = |comm: Comm| {
            for number in 0..MEETINGS {
                assert_eq!(comm.agree_flags("a test", 1).unwrap().flags, 1);
                if number % 10 == 0 {
                    let dup = comm.dup().unwrap();
                    dup.exchange(&[1], Duration::MAX).unwrap().unwrap();
                    dup.share(|| 1).unwrap();
                }
            }
            comm.round("a test", (0, 0), &[]).unwrap();
            let Common {
                exchanges,
                agreements,
                shared,
                ..
            } = &*comm.common;
            let open = (exchanges.open(), agreements.open(), shared.open());
            assert_eq!((open, lock(&comm.common.children.0).len()), ((0, 0, 0), 0));
            assert_eq!(lock(&comm.ranks().commons.0).len(), 0);
        };
        let [one, other] = [0, 1].map(of);
        thread::scope(|scope| {
            scope.spawn(|| run(other));
            run(one);
        });
    }

    /// It stayed as long as the world.
    #[test]
    fn what_one_of_its_ranks_never_makes_goes_with_what_it_is_made_of() {
        let world = Arc::new(World::new(2));
        let comparing = Comparing {
            checks: Checks::Local,
            limit: Duration::MAX,
        };
        let [one, other] = [0, 1].map(|rank| {
            let place = Membership::new(world.clone(), rank, ThreadLevel::Multiple, comparing);
            Comm::world(Arc::new(place))
        });
        let child = one.child(world.new_context(), one.members.clone(), 0);
        let common = Arc::downgrade(&child.common);
        drop((child, one));
        assert!(common.upgrade().is_some(), "the other rank may make it");
        drop(other);
        assert!(common.upgrade().is_none());
    }

    #[test]
    fn ranks_of_a_communicator_find_the_same_and_it_goes_with_the_last() {
        let commons = Commons::default();
        let find = |context, members: &[usize]| commons.find(context, members);
        let (one, same) = (find(2, &[0, 1, 5]), find(2, &[0, 1, 5]));
        assert!(Arc::ptr_eq(&one, &same));
        // Another communicator, and the other group of the same one.
        for other in [find(4, &[0, 1, 5]), find(2, &[2, 3])] {
            assert!(!Arc::ptr_eq(&one, &other));
        }
        drop((same, find(6, &[3])));
        assert_eq!(lock(&commons.0).len(), 3);
        // One that comes late finds what the others have dropped.
        one.board.break_off_between(1, true);
        drop(one);
        let last = find(2, &[0, 1, 5]);
        assert_eq!(last.board.broken_by(), Some(1));
        assert_eq!((lock(&commons.0).len(), Arc::strong_count(&last)), (2, 1));
    }
}
