//! The end of the runtime as the last collective of the world, where ranks compare their calls.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Session;
use crate::call::call_description::CallDescription;
use crate::call::checks::not_all_came;
use crate::call::limit::{Limit, OnTimeLimit, Others};
use crate::result::Result;
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
        let mut alike = Ok(());
        while !self.is_out_of_step() {
            let mine = OfWorld::begin(told.bytes(), self.size)?;
            let all = mine.wait(patience, || {
                query_ranks::answer();
                self.detached.sweep();
                self.is_out_of_step()
            })?;
            let Some(all) = all else {
                if self.is_out_of_step() {
                    break;
                }
                if limit.is_some_and(|limit| limit.duration <= self.comparing.limit) {
                    held.is_late()?;
                }
                let states = held.call.states();
                let others = Others(Some(&held.call), &states);
                return Err(not_all_came(OPERATION, self.size, &others));
            };
            match CallDescription::compare(OPERATION, &all) {
                Ok(()) => return Ok(alike),
                Err(error) if CallDescription::any_begins(&all) => return Err(error),
                Err(error) => alike = alike.and(Err(error)),
            }
        }
        // The ranks were out of step before, and have been told so.
        Ok(alike)
    }

    fn is_out_of_step(&self) -> bool {
        self.world_step.load(Ordering::Relaxed)
    }
}
