//! Epochs that are open on a window on this rank: none is opened twice, and all are closed before
//! the window is freed.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ranks_comm::{Error, ErrorKind, Result};

use crate::epoch::dealings::Dealings;

/// Shared by a window and its deferred free.
#[derive(Debug, Default)]
pub(crate) struct Epochs(Mutex<Open>);

/// Epochs that are open.
#[derive(Debug, Default)]
pub(crate) struct Open {
    /// Between fences.
    pub(crate) fenced: bool,
    /// All ranks are locked together.
    all: bool,
    /// Ranks that are locked one by one, few as a rule. A set would allocate at each lock.
    ranks: Vec<usize>,
    /// Epochs of post and start.
    pub(crate) dealings: Dealings,
}

/// Target of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    All,
    Rank(usize),
}

impl Epochs {
    #[inline]
    pub(crate) fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a lock that is about to be asked for.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if it would be a second one on the same rank.
    #[inline]
    pub(crate) fn hold(&self, operation: &'static str, hold: Hold) -> Result<()> {
        let mut open = self.open();
        let free = match hold {
            Hold::All if open.all || !open.ranks.is_empty() => false,
            Hold::All => {
                open.all = true;
                true
            }
            Hold::Rank(rank) if open.all || open.place(rank).is_some() => false,
            Hold::Rank(rank) => {
                open.ranks.push(rank);
                true
            }
        };
        if free {
            return Ok(());
        }
        Err(open.nested(operation, hold))
    }

    /// Returns true if more than one rank is locked, each by itself.
    pub(crate) fn holds_several(&self) -> bool {
        self.open().ranks.len() > 1
    }

    /// A lock is gone, or was not got.
    #[inline(always)]
    pub(crate) fn release(&self, hold: Hold) {
        let mut open = self.open();
        match hold {
            Hold::All => open.all = false,
            Hold::Rank(rank) => {
                if let Some(place) = open.place(rank) {
                    open.ranks.swap_remove(place);
                }
            }
        }
    }

    /// The locks that were not released, which are forgotten here.
    pub(crate) fn take_held(&self) -> Vec<Hold> {
        let mut open = self.open();
        let all = std::mem::take(&mut open.all).then_some(Hold::All);
        let ranks = std::mem::take(&mut open.ranks);
        all.into_iter()
            .chain(ranks.into_iter().map(Hold::Rank))
            .collect()
    }
}

impl Open {
    /// The place of a rank among those that are locked one by one.
    #[inline]
    fn place(&self, rank: usize) -> Option<usize> {
        self.ranks.iter().position(|&one| one == rank)
    }

    #[cold]
    fn nested(&self, operation: &'static str, hold: Hold) -> Error {
        let wanted = match hold {
            Hold::All => "all ranks".to_owned(),
            Hold::Rank(rank) => format!("rank {rank}"),
        };
        let held = if self.all {
            "all ranks".to_owned()
        } else if let Hold::Rank(rank) = hold {
            format!("rank {rank}")
        } else {
            format!("ranks {:?}", self.ranks)
        };
        Error::new(
            ErrorKind::Argument,
            operation,
            format_args!(
                "{wanted} cannot be locked, because this rank holds a lock of {held} on this window; unlock it first"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_locked_once_and_all_together_alone() {
        let epochs = Epochs::default();
        let hold = |hold| epochs.hold("MPI_Win_lock", hold).is_ok();
        assert!(hold(Hold::Rank(1)));
        assert!(!epochs.holds_several());
        assert!(hold(Hold::Rank(2)));
        assert!(epochs.holds_several());
        assert!(!hold(Hold::Rank(1)));
        assert!(!hold(Hold::All));
        epochs.release(Hold::Rank(1));
        assert!(!hold(Hold::All));
        assert_eq!(epochs.take_held(), [Hold::Rank(2)]);
        assert!(hold(Hold::All));
        assert!(!hold(Hold::All));
        assert!(!hold(Hold::Rank(0)));
        epochs.release(Hold::All);
        assert!(hold(Hold::Rank(0)));
    }
}
