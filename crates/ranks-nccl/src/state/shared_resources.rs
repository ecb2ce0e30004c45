//! Communicators that share resources of the library, so that they are aborted together.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Shared;
use crate::options::Sharing;

/// The communicators of this process that were split or shrunk from one that shares with them;
/// nothing if none does.
///
/// NCCL says that aborting one of them can make the others unusable; here it always does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Family {
    sharing: Sharing,
    members: Option<Members>,
}

type Members = Arc<Mutex<Vec<Weak<Shared>>>>;

impl Family {
    /// That of a communicator made from nothing.
    pub(crate) fn new(sharing: Sharing) -> Self {
        let members = (sharing != Sharing::default()).then(Members::default);
        Self { sharing, members }
    }

    /// That of a child by `split`.
    pub(crate) fn of_split(&self) -> Self {
        self.of_child(self.sharing.split)
    }

    /// That of a child by `shrink`.
    pub(crate) fn of_shrunk(&self) -> Self {
        self.of_child(self.sharing.shrunk)
    }

    /// That of a child that shares nothing whatever the options say.
    pub(crate) fn apart(&self) -> Self {
        self.of_child(false)
    }

    fn of_child(&self, shares: bool) -> Self {
        if shares {
            self.clone()
        } else {
            Self::new(self.sharing)
        }
    }

    /// Adds a member.
    pub(crate) fn joined_by(&self, member: &Arc<Shared>) {
        if let Some(members) = &self.members {
            let mut members = members.lock().unwrap_or_else(PoisonError::into_inner);
            members.retain(|member| member.strong_count() > 0);
            members.push(Arc::downgrade(member));
        }
    }

    /// Aborts all but `first`, which was aborted for `why`.
    pub(crate) fn abort_others(&self, first: &Shared, why: &str) {
        let Some(members) = &self.members else { return };
        let others: Vec<Arc<Shared>> = {
            let members = members.lock().unwrap_or_else(PoisonError::into_inner);
            members.iter().filter_map(Weak::upgrade).collect()
        };
        for other in others {
            if !std::ptr::eq(&*other, first) {
                other.end_by_abort(&format!("one that shares its resources was aborted: {why}"));
            }
        }
    }
}
