//! Exchange of bytes among all ranks, with a limit on the wait.
//!
//! The bytes lie in shared memory, once, and only the last rank to come wakes the others: there may
//! be thousands.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::comm::Comm;
use super::exchanges::{ExchangeState, Key};
use crate::call::checks::Checks;
use crate::call::lock::lock;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::StartedOp;
use crate::transport::join::Join;
use crate::transport::pending_op::Deferred;

/// The name of the operation in errors, whatever the exchange is for.
const OPERATION: &str = "a collective";

impl Comm {
    /// Returns `true` if ranks compare their calls.
    pub(crate) fn compares(&self) -> bool {
        self.place.comparing.checks >= Checks::Collective
    }

    /// The time that ranks wait for each other then.
    pub(crate) fn check_limit(&self) -> Duration {
        self.place.comparing.limit
    }

    /// Gathers the bytes of all ranks, in rank order, as many from each; `None` if not all of them
    /// came within the limit of comparisons, or in the time `left`. Collective.
    pub(crate) fn exchange(&self, mine: &[u8], left: Duration) -> Result<Option<Arc<[u8]>>> {
        let limit = self.place.comparing.limit.min(left);
        let end = Instant::now().checked_add(limit);
        let key = self.tell_all(mine)?;
        self.wait_for_exchange(key, end)
    }

    /// Joins the words of all ranks; `None` as with [`exchange`](Self::exchange). Collective.
    pub(crate) fn join_in_time(
        &self,
        words: &[u64],
        by: Join,
        left: Duration,
    ) -> Result<Option<Vec<u64>>> {
        let mine: &[u8] = bytemuck::must_cast_slice(words);
        let all = self.exchange(mine, left)?;
        Ok(all.map(|all| {
            let mut told = all
                .chunks_exact(mine.len())
                .map(bytemuck::pod_collect_to_vec::<u8, u64>);
            let first = told.next().unwrap_or_default();
            told.fold(first, |mut joined, theirs| {
                let pairs = joined.iter_mut().zip(theirs);
                pairs.for_each(|(joined, word)| *joined = by.of(*joined, word));
                joined
            })
        }))
    }

    /// Starts a nonblocking exchange, and calls `then` with the bytes of all ranks. Collective.
    pub(crate) fn begin_exchange(
        &self,
        operation: &'static str,
        mine: &[u8],
        then: impl Fn(&[u8]) -> Result<()> + Send + 'static,
    ) -> Result<StartedOp> {
        let key = self.tell_all(mine)?;
        Ok(StartedOp::InProcess(Box::new(Exchanging {
            operation,
            key,
            then,
        })))
    }

    /// Adds this rank's bytes to the next exchange.
    pub(crate) fn tell_all(&self, mine: &[u8]) -> Result<Key> {
        let world = self.ranks();
        world.not_revoked(OPERATION, self.context)?;
        let key = (self.context, self.exchanged.fetch_add(1, Ordering::Relaxed));
        if world.exchanges.come(key, self.rank(), self.size(), mine) {
            world.wake_each(self.members().iter().copied());
        }
        Ok(key)
    }

    /// The bytes of all ranks, or `None` if not all of them have come yet.
    fn look_at_exchange(&self, key: Key) -> Result<Option<Arc<[u8]>>> {
        let (world, me) = (self.ranks(), self.place.rank);
        let has_ended = |rank: usize| world.has_ended(self.members()[rank]);
        match world.exchanges.look(key, has_ended) {
            ExchangeState::Over(Ok(all)) => Ok(Some(all)),
            ExchangeState::Over(Err(differ)) => {
                let detail = format_args!("ranks are in different calls: {differ}");
                Err(Error::new(ErrorKind::Mismatch, OPERATION, detail))
            }
            ExchangeState::Without(rank) => {
                world.no_failure(OPERATION, me)?;
                let detail = format_args!("rank {rank} ended without doing its part");
                Err(Error::new(ErrorKind::PeerFailed, OPERATION, detail))
            }
            ExchangeState::Open => {
                world.not_revoked(OPERATION, self.context)?;
                world.no_failure(OPERATION, me).map(|()| None)
            }
        }
    }

    /// Waits for the exchange until `end`, or until the time limit of the call in flight.
    fn wait_for_exchange(&self, key: Key, end: Option<Instant>) -> Result<Option<Arc<[u8]>>> {
        let mailbox = &self.ranks().mailboxes[self.place.rank];
        let _sleeper = mailbox.sleeper();
        let mut inbox = lock(&mailbox.inbox);
        loop {
            if let Some(all) = self.look_at_exchange(key)? {
                return Ok(Some(all));
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            inbox = match left {
                None => mailbox.rest(inbox, None)?,
                Some(Duration::ZERO) => return Ok(None),
                Some(_) => mailbox.sleep(inbox, None, left),
            };
        }
    }
}

/// A nonblocking exchange, and the use of its result.
struct Exchanging<F> {
    /// The call that it is a part of.
    operation: &'static str,
    key: Key,
    then: F,
}

impl<F: Fn(&[u8]) -> Result<()> + Send> Deferred for Exchanging<F> {
    fn advance(&mut self, comm: &Comm, wait: bool) -> Result<bool> {
        let all = if wait {
            comm.wait_for_exchange(self.key, None)
        } else {
            comm.look_at_exchange(self.key)
        };
        let all = all.map_err(|error| error.of(self.operation))?;
        all.map_or(Ok(false), |all| (self.then)(&all).map(|()| true))
    }
}

impl<F> fmt::Debug for Exchanging<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Exchanging").field(&self.key).finish()
    }
}
