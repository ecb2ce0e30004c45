//! One thread at a time makes calls on a communicator: NCCL wants a call to be over, which takes
//! several looks, before the next.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Whose turn it is. Not tied to a scope, because the turn of a group lasts from its first call to
/// its end.
#[derive(Debug, Default)]
pub(crate) struct CallLock {
    taken: Mutex<bool>,
    given: Condvar,
}

impl CallLock {
    /// Waits for the turn, at most as long as `limit` says. Whether it was had.
    pub(crate) fn take(&self, limit: Option<Duration>) -> bool {
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut taken = self.lock();
        while *taken {
            taken = match end {
                None => self
                    .given
                    .wait(taken)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    let waited = self.given.wait_timeout(taken, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        *taken = true;
        true
    }

    /// Lets the next thread have it.
    pub(crate) fn give(&self) {
        *self.lock() = false;
        self.given.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_had_once_until_it_is_given() {
        let turn = CallLock::default();
        assert!(turn.take(None));
        assert!(!turn.take(Some(Duration::from_millis(1))));
        turn.give();
        assert!(turn.take(Some(Duration::ZERO)));
    }
}
