//! Failed ranks and revoked communicators, which end the waits of others.

use std::sync::atomic::Ordering;

use super::contexts;
use super::world::{Failure, World};
use crate::call::lock::lock;
use crate::result::{Error, ErrorKind, Result};

impl World {
    /// Records that `rank` failed, and ends the waits of all ranks.
    pub(crate) fn fail(&self, rank: usize, what: String) {
        let mut failures = lock(&self.failures);
        failures.push(Failure { rank, what });
        self.failed.store(failures.len(), Ordering::Release);
        drop(failures);
        self.wake_all();
    }

    /// The ranks that have failed, of the first so many failures.
    pub(crate) fn failed_ranks(&self, failures: usize) -> Vec<usize> {
        let all = lock(&self.failures);
        all.iter()
            .take(failures)
            .map(|failure| failure.rank)
            .collect()
    }

    /// The number of failures that `me` has acknowledged.
    pub(crate) fn acknowledged(&self, me: usize) -> usize {
        self.mailboxes[me].acknowledged.load(Ordering::Relaxed)
    }

    /// Acknowledges the first so many failures: they no longer end the waits of `me`.
    pub(crate) fn acknowledge_failures(&self, me: usize, failures: usize) {
        let acknowledged = &self.mailboxes[me].acknowledged;
        acknowledged.fetch_max(failures, Ordering::Relaxed);
    }

    /// The first failure.
    pub(crate) fn failure(&self) -> Option<Failure> {
        lock(&self.failures).first().cloned()
    }

    /// Returns an error if a rank has failed and `me` has not acknowledged it.
    pub(crate) fn no_failure(&self, operation: &'static str, me: usize) -> Result<()> {
        let acknowledged = self.acknowledged(me);
        if self.failed.load(Ordering::Acquire) <= acknowledged {
            return Ok(());
        }
        let text = match lock(&self.failures).get(acknowledged) {
            Some(Failure { rank, what }) => {
                format!("rank {rank} of {} failed: {what}", self.size())
            }
            None => "a rank failed".to_owned(),
        };
        Err(Error::new(ErrorKind::PeerFailed, operation, text))
    }

    /// Ends the waits of all on the communicator of that context.
    pub(crate) fn revoke(&self, context: u64) {
        lock(&self.revoked).insert(context);
        self.any_revoked.store(true, Ordering::Release);
        self.wake_all();
    }

    pub(crate) fn is_revoked(&self, context: u64) -> bool {
        self.any_revoked.load(Ordering::Acquire) && lock(&self.revoked).contains(&context)
    }

    /// Returns an error if the communicator that a context belongs to is revoked.
    pub(crate) fn not_revoked(&self, operation: &'static str, context: u64) -> Result<()> {
        if !self.is_revoked(contexts::of_communicator(context)) {
            return Ok(());
        }
        let what = "this communicator was revoked; shrink it and go on with the new one";
        Err(Error::new(ErrorKind::Revoked, operation, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::in_process::mailbox::Pattern;

    #[test]
    fn a_failure_wakes_those_who_wait_and_names_the_first() {
        let world = &World::new(3);
        let error = std::thread::scope(|s| {
            let pattern = Pattern {
                context: 0,
                source: Some(1),
                tag: None,
            };
            let receive = move || world.receive("MPI_Recv", 0, &pattern, &[0, 1, 2]);
            let waiting = s.spawn(receive);
            world.fail(2, "no memory".into());
            world.fail(1, "later".into());
            waiting.join().unwrap().unwrap_err()
        });
        assert_eq!(error.kind(), ErrorKind::PeerFailed);
        assert_eq!(error.to_string(), "MPI_Recv: rank 2 of 3 failed: no memory");
    }
}
