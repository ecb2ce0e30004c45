//! The end of the runtime as the last collective of the world, where ranks compare their calls.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Session, whoami};
use crate::call::call_description::{CallDescription, Groups, Joined};
use crate::call::checks::not_all_came;
use crate::call::limit::{Limit, OnTimeLimit, Others};
use crate::result::Result;
use crate::transport::join::Join;
use crate::transport::mpi::exchange::OfWorld;
use crate::transport::mpi::{fault_tolerance, query_ranks};

const OPERATION: &str = "MPI_Finalize";

impl Session {
    /// Waits until all ranks are about to end. A rank that is in a collective of the world instead
    /// gets the same error as this rank, and is waited for again: the inner result is the first
    /// such error, after which all have come to the end all the same.
    ///
    /// # Errors
    /// [`TimedOut`](crate::ErrorKind::TimedOut) if not all of them have come in time,
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if some wait for an operation that never completes:
    /// MPI cannot be finalized then.
    pub(super) fn last_call(&self, limit: Option<Limit>) -> Result<Result<()>> {
        let is_told = self.owner && self.size > 1 && self.compares();
        // Those that have failed come no more.
        if !is_told || fault_tolerance::is_on() {
            return Ok(Ok(()));
        }
        let limit = limit.filter(|limit| limit.then != OnTimeLimit::Warn);
        let patience = limit.map_or(Duration::MAX, |limit| limit.duration);
        let patience = patience.min(self.comparing.limit);
        let held = self.ending(limit);
        // The effect of its limit is applied here.
        held.call.is_looked_at.store(true, Ordering::Relaxed);
        let told = CallDescription::named(OPERATION);
        let look = || {
            query_ranks::answer();
            self.detached.sweep();
            self.is_out_of_step()
        };
        let late = || {
            if limit.is_some_and(|limit| limit.duration <= self.comparing.limit)
                && let Err(late) = held.is_late()
            {
                return late;
            }
            let states = held.call.states();
            let others = Others(Some(&held.call), &states);
            not_all_came(OPERATION, self.size, &others)
        };
        let rank = whoami().map_or(0, |(rank, _)| rank);
        let mut alike = Ok(());
        while !self.is_out_of_step() {
            let words = Joined::words(&told, rank, true);
            let Some(words) = OfWorld::join(&words, Join::Min)?.wait(patience, look)? else {
                if self.is_out_of_step() {
                    break;
                }
                return Err(late());
            };
            let joined = Joined::of(&words);
            if joined.is_equal() {
                return Ok(alike);
            }
            if joined.any_begins() {
                return Err(joined.differ(OPERATION, &told));
            }
            alike = alike.and(Err(if joined.all_stay() {
                Groups::find_out(
                    OPERATION,
                    &told,
                    rank,
                    |mine| {
                        let all = OfWorld::exchange(mine, self.size)?.wait(patience, look)?;
                        all.map(Into::into).ok_or_else(late)
                    },
                    |words| {
                        let all = OfWorld::join(words, Join::Or)?.wait(patience, look)?;
                        all.ok_or_else(late)
                    },
                )?
            } else {
                joined.differ(OPERATION, &told)
            }));
        }
        // The ranks were out of step before, and have been told so.
        Ok(alike)
    }

    fn is_out_of_step(&self) -> bool {
        self.world_step.load(Ordering::Relaxed)
    }
}
