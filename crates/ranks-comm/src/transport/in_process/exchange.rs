//! Exchange of bytes among all ranks, with a limit on the wait.
//!
//! The bytes lie in shared memory, once, and only the last rank to come wakes the others: there may
//! be thousands.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ranks_launch::Count;

use super::comm::Comm;
use super::common::Common;
use crate::call::checks::Checks;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::StartedOp;
use crate::transport::join::Join;
use crate::transport::pending_op::Deferred;

/// The bytes of all ranks in rank order, or how they differ in length.
pub(super) type Joined = Result<Arc<[u8]>, String>;

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
        let exchanges = &self.common.exchanges;
        let joined = self.meet_all(OPERATION, exchanges, mine.to_vec(), end, join)?;
        joined.map(alike).transpose()
    }

    /// Adds this rank's bytes to the next exchange, of which it does not learn the result.
    pub(crate) fn tell_all(&self, mine: &[u8]) {
        let exchanges = &self.common.exchanges;
        if let Ok(number) = self.come_to(OPERATION, exchanges, mine.to_vec()) {
            self.leave(exchanges, number);
        }
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
        Ok(StartedOp::InProcess(Box::new(Exchanging {
            operation,
            number: self.come_to(OPERATION, &self.common.exchanges, mine.to_vec())?,
            common: Arc::clone(&self.common),
            then,
        })))
    }
}

/// The bytes of all ranks, once all have come: in rank order, or why they cannot be.
fn join(brought: &[Option<Vec<u8>>]) -> Option<Joined> {
    let all: Vec<&[u8]> = brought
        .iter()
        .map(Option::as_deref)
        .collect::<Option<_>>()?;
    let other = all.iter().position(|theirs| theirs.len() != all[0].len());
    Some(match other {
        None => Ok(all.concat().into()),
        Some(other) => Err(format!(
            "rank 0 passes {}, and rank {other} {}",
            Count(all[0].len(), "byte"),
            all[other].len()
        )),
    })
}

/// The bytes of all ranks, unless they differ in length.
fn alike(joined: Joined) -> Result<Arc<[u8]>> {
    joined.map_err(|differ| {
        let detail = format_args!("ranks are in different calls: {differ}");
        Error::new(ErrorKind::Mismatch, OPERATION, detail)
    })
}

/// A nonblocking exchange, and the use of its result.
struct Exchanging<F> {
    /// The call that it is a part of.
    operation: &'static str,
    common: Arc<Common>,
    number: u64,
    then: F,
}

impl<F: Fn(&[u8]) -> Result<()> + Send> Deferred for Exchanging<F> {
    fn advance(&mut self, comm: &Comm, wait: bool) -> Result<bool> {
        let exchanges = &self.common.exchanges;
        let look = || comm.look_at(OPERATION, exchanges, self.number, false, join);
        let joined = if wait {
            comm.mailbox().until(None, look).map(Some)
        } else {
            look()
        };
        let all = joined.and_then(|joined| joined.map(alike).transpose());
        let all = all.map_err(|error| error.of(self.operation))?;
        all.map_or(Ok(false), |all| (self.then)(&all).map(|()| true))
    }
}

impl<F> Drop for Exchanging<F> {
    fn drop(&mut self) {
        self.common.exchanges.leave(self.number, |_| false);
    }
}

impl<F> fmt::Debug for Exchanging<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Exchanging").field(&self.number).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_joined_in_rank_order_when_all_are_there() {
        let [a, b] = ["a", "b"].map(|byte| Some(byte.as_bytes().to_vec()));
        assert_eq!(join(&[a.clone(), None]), None);
        assert_eq!(join(&[a, b]), Some(Ok(b"ab"[..].into())));
    }

    #[test]
    fn lengths_that_differ_are_an_error() {
        let told = join(&[Some(vec![0]), Some(vec![0, 0])]);
        let text = "rank 0 passes 1 byte, and rank 1 2";
        assert_eq!(told, Some(Err(text.to_owned())));
    }
}
