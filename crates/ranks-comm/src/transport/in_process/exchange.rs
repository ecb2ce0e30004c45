//! Exchange of bytes among all ranks, with a limit on the wait.
//!
//! The bytes lie in shared memory, once, and only the last rank to come wakes the others: there may be thousands.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::comm::Comm;
use super::world::lock;
use crate::call::checks::Checks;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::StartedOp;
use crate::transport::pending_op::Deferred;

/// The name of the operation in errors, whatever the exchange is for.
const OPERATION: &str = "a collective";

/// The context of an exchange, and its number there.
type Key = (u64, u64);

/// The exchanges of a world that not all of their ranks have left.
#[derive(Debug, Default)]
pub(crate) struct Exchanges(Mutex<HashMap<Key, Exchange>>);

#[derive(Debug)]
struct Exchange {
    came: Vec<Option<Vec<u8>>>,
    missing: usize,
    /// The result, once all have come: the bytes in rank order, or the ranks that differ in their lengths.
    all: Option<Result<Arc<[u8]>, String>>,
    to_be_told: usize,
}

/// The state of an exchange.
enum State {
    Over(Result<Arc<[u8]>, String>),
    /// This rank has ended and will not come any more.
    Without(usize),
    Open,
}

impl Exchanges {
    /// Adds the bytes of rank `me` of so many; returns `true` if all have come.
    fn come(&self, key: Key, me: usize, size: usize, mine: &[u8]) -> bool {
        let mut all = lock(&self.0);
        let exchange = all.entry(key).or_insert_with(|| Exchange {
            came: vec![None; size],
            missing: size,
            all: None,
            to_be_told: size,
        });
        exchange.came[me] = Some(mine.to_vec());
        exchange.missing -= 1;
        if exchange.missing > 0 {
            return false;
        }
        let came: Vec<_> = exchange.came.drain(..).flatten().collect();
        let other = came.iter().position(|theirs| theirs.len() != came[0].len());
        exchange.all = Some(match other {
            None => Ok(came.concat().into()),
            Some(other) => Err(format!(
                "rank 0 passes {} bytes, and rank {other} {}",
                came[0].len(),
                came[other].len()
            )),
        });
        true
    }

    /// The state of an exchange; a rank that sees that it is complete has left it.
    fn look(&self, key: Key, has_ended: impl Fn(usize) -> bool) -> State {
        let mut open = lock(&self.0);
        let Some(exchange) = open.get_mut(&key) else {
            return State::Open;
        };
        let Some(all) = exchange.all.clone() else {
            // A rank adds its bytes before it ends.
            let missing = |&rank: &usize| exchange.came[rank].is_none() && has_ended(rank);
            let gone = (0..exchange.came.len()).find(missing);
            return gone.map_or(State::Open, State::Without);
        };
        exchange.to_be_told -= 1;
        if exchange.to_be_told == 0 {
            open.remove(&key);
        }
        State::Over(all)
    }
}

impl Comm {
    /// Returns `true` if ranks compare their calls.
    pub(crate) fn compares(&self) -> bool {
        self.place.comparing.checks == Checks::Collective
    }

    /// The time that ranks wait for each other then.
    pub(crate) fn check_limit(&self) -> Duration {
        self.place.comparing.limit
    }

    /// Gathers the bytes of all ranks, in rank order, as many from each; `None` if not all of them came within the limit of
    /// comparisons, or in the time `left`. Collective.
    pub(crate) fn exchange(&self, mine: &[u8], left: Duration) -> Result<Option<Arc<[u8]>>> {
        let limit = self.place.comparing.limit.min(left);
        let end = Instant::now().checked_add(limit);
        let key = self.tell_all(mine)?;
        self.wait_for_exchange(key, end)
    }

    /// Starts a nonblocking exchange, and calls `then` with the bytes of all ranks. Collective.
    pub(crate) fn begin_exchange(
        &self,
        mine: &[u8],
        then: impl Fn(&[u8]) -> Result<()> + Send + 'static,
    ) -> Result<StartedOp> {
        let key = self.tell_all(mine)?;
        Ok(StartedOp::InProcess(Box::new(Exchanging { key, then })))
    }

    /// Adds this rank's bytes to the next exchange.
    pub(crate) fn tell_all(&self, mine: &[u8]) -> Result<Key> {
        let world = self.ranks();
        world.not_revoked(OPERATION, self.context)?;
        let key = (self.context, self.exchanged.fetch_add(1, Ordering::Relaxed));
        if world.exchanges.come(key, self.rank(), self.size(), mine) {
            self.members().iter().for_each(|&rank| world.wake(rank));
        }
        Ok(key)
    }

    /// The bytes of all ranks, or `None` if not all of them have come yet.
    fn look_at_exchange(&self, key: Key) -> Result<Option<Arc<[u8]>>> {
        let (world, me) = (self.ranks(), self.place.rank);
        let has_ended = |rank: usize| world.has_ended(self.members()[rank]);
        match world.exchanges.look(key, has_ended) {
            State::Over(Ok(all)) => Ok(Some(all)),
            State::Over(Err(differ)) => {
                Err(Error::with_text(ErrorKind::Mismatch, OPERATION, differ))
            }
            State::Without(rank) => {
                world.no_failure(OPERATION, me)?;
                let detail = format_args!("rank {rank} ended without doing its part");
                Err(Error::new(ErrorKind::PeerFailed, OPERATION, detail))
            }
            State::Open => {
                world.not_revoked(OPERATION, self.context)?;
                world.no_failure(OPERATION, me).map(|()| None)
            }
        }
    }

    /// Waits for the exchange until `end`, or until the time limit of the call in flight.
    fn wait_for_exchange(&self, key: Key, end: Option<Instant>) -> Result<Option<Arc<[u8]>>> {
        let mailbox = &self.ranks().mailboxes[self.place.rank];
        let mut queues = lock(&mailbox.queues);
        loop {
            if let Some(all) = self.look_at_exchange(key)? {
                return Ok(Some(all));
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            queues = match left {
                None => mailbox.rest(queues, None)?,
                Some(Duration::ZERO) => return Ok(None),
                Some(_) => mailbox.sleep(queues, None, left),
            };
        }
    }
}

/// A nonblocking exchange, and the use of its result.
struct Exchanging<F> {
    key: Key,
    then: F,
}

impl<F: Fn(&[u8]) -> Result<()> + Send> Deferred for Exchanging<F> {
    fn advance(&mut self, comm: &Comm, wait: bool) -> Result<bool> {
        let all = if wait {
            comm.wait_for_exchange(self.key, None)?
        } else {
            comm.look_at_exchange(self.key)?
        };
        all.map_or(Ok(false), |all| (self.then)(&all).map(|()| true))
    }
}

impl<F> fmt::Debug for Exchanging<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Exchanging").field(&self.key).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_is_over_when_all_have_come_and_forgotten_when_all_know() {
        let exchanges = Exchanges::default();
        let look = || exchanges.look((0, 0), |_| false);
        assert!(!exchanges.come((0, 0), 2, 3, b"c"));
        assert!(!exchanges.come((0, 0), 0, 3, b"a"));
        assert!(matches!(look(), State::Open));
        // Rank 2 came before it ended, rank 1 did not.
        assert!(matches!(
            exchanges.look((0, 0), |rank| rank > 0),
            State::Without(1)
        ));
        assert!(exchanges.come((0, 0), 1, 3, b"b"));
        for _ in 0..3 {
            assert!(matches!(look(), State::Over(Ok(all)) if *all == *b"abc"));
        }
        assert!(exchanges.0.lock().unwrap().is_empty());
    }

    #[test]
    fn lengths_that_differ_are_the_same_error_on_all_ranks() {
        let exchanges = Exchanges::default();
        exchanges.come((0, 0), 0, 2, b"a");
        exchanges.come((0, 0), 1, 2, b"bc");
        for _ in 0..2 {
            let state = exchanges.look((0, 0), |_| true);
            let State::Over(Err(text)) = state else {
                panic!("it is over")
            };
            assert_eq!(text, "rank 0 passes 1 bytes, and rank 1 2");
        }
    }
}
