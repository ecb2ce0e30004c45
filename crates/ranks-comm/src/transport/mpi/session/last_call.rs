//! The end of the runtime as the last collective of the world, where ranks compare their calls.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ranks_mpi_sys as sys;

use super::Session;
use crate::call::call_description::{CallDescription, Groups, Joined};
use crate::call::limit::{Limit, OnTimeLimit, Others};
use crate::result::Result;
use crate::transport::facts::Facts;
use crate::transport::join::Join;
use crate::transport::mpi::exchange::{Memory, gather, join};
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
        let Facts { rank, size, .. } = *self.facts;
        let is_told = self.owner && size > 1 && self.compares();
        // Those that have failed come no more.
        if !is_told || fault_tolerance::is_on() {
            return Ok(Ok(()));
        }
        let held = self.ending(limit);
        let limit = limit.filter(|limit| limit.then != OnTimeLimit::Warn);
        let patience = limit.map_or(Duration::MAX, |limit| limit.duration);
        let patience = patience.min(self.comparing.limit);
        // The effect of its limit is applied here.
        let recorder = &held.call.recorder;
        let told = CallDescription::named(OPERATION);
        let look = || {
            query_ranks::answer();
            self.detached.sweep();
            if limit.is_none() && held.call.left() == Some(Duration::ZERO) {
                // It warns, once.
                let _ = held.is_late();
            }
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
            recorder.not_all_came(OPERATION, self.comparing.limit, &others)
        };
        let world = sys::MPI_COMM_WORLD;
        let exchange = |mine: &[u8]| gather(world, mine, size)?.wait(patience, look);
        let join = |words: &[u64], by| join(world, words, by)?.wait(patience, look);
        let by_digests = || {
            let Some(words) = join(&Joined::words(&told, rank, true), Join::Min)? else {
                return Ok(None);
            };
            let joined = Joined::of(&words.all);
            let compared = if joined.is_equal() {
                Ok(())
            } else if joined.all_stay() {
                let exchange = |mine: &[u8]| Ok(exchange(mine)?.ok_or_else(late)?.all.into());
                let join = |words: &[u64]| Ok(join(words, Join::Or)?.ok_or_else(late)?.all);
                Err(Groups::find_out(OPERATION, &told, rank, exchange, join)?)
            } else {
                Err(joined.differ(OPERATION, &told))
            };
            Ok(Some((compared, joined.any_begins())))
        };
        let by_what_is_told = || {
            Ok(exchange(told.bytes())?.map(|Memory { all, .. }| {
                let compared = CallDescription::compare(OPERATION, &all);
                (compared, CallDescription::any_begins(&all))
            }))
        };
        let mut alike = Ok(());
        while !self.is_out_of_step() {
            let all = match self.comparing.is_by_digests(size) {
                true => by_digests()?,
                false => by_what_is_told()?,
            };
            match all {
                Some((Ok(()), _)) => return Ok(alike),
                Some((Err(error), true)) => return Err(recorder.mismatched(error)),
                Some((Err(error), false)) => alike = alike.and(Err(recorder.mismatched(error))),
                None if self.is_out_of_step() => break,
                None => return Err(late()),
            }
        }
        // The ranks were out of step before, and have been told so.
        Ok(alike)
    }

    fn is_out_of_step(&self) -> bool {
        self.world_step.load(Ordering::Relaxed)
    }
}
