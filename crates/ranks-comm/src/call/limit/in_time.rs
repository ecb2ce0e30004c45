//! The effect of a time limit on a call.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ranks_trace::Home;

use super::last_resort::abort_for_sure;
use super::processes::{States, ask};
use super::report::{RankState, Report};
use super::{Limit, OnTimeLimit, Origin, Pause, STATUS, has_passed, lock};
use crate::call::hold;
use crate::call::inflight_calls::{self, CallInFlight, Held};
use crate::call::last_words::last_words;
use crate::call::record::dump::{self, Reason};
use crate::result::{Error, ErrorKind, Result};

/// The outermost call of this thread with a limit.
pub(crate) fn in_time() -> Option<Arc<CallInFlight>> {
    if !hold::is_wanted() {
        return None;
    }
    inflight_calls::limited_here()
}

/// Returns `true` if a call of this thread has a limit, which it has not come to.
pub(crate) fn is_limited() -> bool {
    in_time().is_some_and(|call| call.left().is_some())
}

/// As [`in_time`], if the call may end with an error at its limit.
pub(crate) fn may_end() -> Option<Arc<CallInFlight>> {
    in_time().filter(|call| {
        call.limit
            .is_some_and(|limit| limit.then == OnTimeLimit::Error)
    })
}

/// Polls until `look` returns a value, or until the time limit of the call that this thread has
/// entered.
///
/// # Errors
/// That of `look`, or [`ErrorKind::TimedOut`].
pub fn look<R>(mut look: impl FnMut() -> Result<Option<R>>) -> Result<R> {
    if let Some(call) = in_time() {
        return call.look(look);
    }
    let mut pause = Pause::default();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        pause.rest();
    }
}

/// The calls of this process over MPI, the oldest first.
pub(super) fn over_mpi() -> Vec<Arc<CallInFlight>> {
    let mut all = inflight_calls::of_this_process();
    all.retain(|call| call.world.is_none());
    all
}

/// The state of this process over MPI, as it answers others.
pub(crate) fn own_state() -> RankState {
    over_mpi()
        .first()
        .map_or(RankState::Idle, |call| call.state())
}

/// The ranks that one of so many asks: all others of a few; of many those that are a power of two
/// away, and the one that it waits for. As each is asked by so many others, all reports together
/// name every rank.
pub(crate) fn asked(rank: usize, size: usize, peer: Option<usize>) -> Vec<usize> {
    const FEW: usize = 64;
    let mut others: Vec<usize> = if size <= FEW {
        (0..size).collect()
    } else {
        let away = std::iter::successors(Some(1), |away| Some(away * 2));
        away.take_while(|away| *away < size)
            .flat_map(|away| [(rank + away) % size, (rank + size - away) % size])
            .chain(peer.filter(|peer| *peer < size))
            .collect()
    };
    others.sort_unstable();
    others.dedup();
    others.retain(|other| *other != rank);
    others
}

impl Held {
    /// Applies the effect of the limit to the call.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`].
    pub(crate) fn is_late(&self) -> Result<()> {
        self.call.is_late(&self.call.states())
    }
}

impl CallInFlight {
    /// Notes the operation that a wait completes.
    pub(crate) fn is_end_of(&self, operation: &'static str) {
        if self.what.operation().starts_with("MPI_Wait") {
            *lock(&self.end_of) = Some(operation);
        }
    }

    fn state(&self) -> RankState {
        RankState::Waits(self.what.operation().to_owned(), self.started.elapsed())
    }

    /// The time that it has left; `None` without a limit.
    pub(crate) fn left(&self) -> Option<Duration> {
        let limit = self
            .limit
            .filter(|_| !self.is_reported.load(Ordering::Relaxed))?;
        Some(limit.duration.saturating_sub(self.started.elapsed()))
    }

    /// Polls until `look` returns a value.
    ///
    /// # Errors
    /// That of `look`, or [`ErrorKind::TimedOut`].
    pub(crate) fn look<R>(&self, mut look: impl FnMut() -> Result<Option<R>>) -> Result<R> {
        let mut pause = Pause::default();
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            if self.left() == Some(Duration::ZERO) {
                let states = self.states();
                // It may have completed while the others were asked.
                if let Some(found) = look()? {
                    return Ok(found);
                }
                self.is_late(&states)?;
            }
            pause.rest();
        }
    }

    /// The states of the other ranks of the communicator, by their ranks in the world, in
    /// ascending order. Over MPI they are asked, and waited for briefly: all of them if they are
    /// few.
    pub(crate) fn states(&self) -> States {
        let (rank, size) = (self.recorder.rank, self.recorder.size);
        let others: Vec<usize> = match &self.world {
            Some(_) => (0..size).filter(|other| *other != rank).collect(),
            None => asked(rank, size, self.peer()),
        };
        let others = others
            .into_iter()
            .filter_map(|rank| self.recorder.world_rank(rank));
        let mut others: Vec<usize> = others.collect();
        others.sort_unstable();
        let Some(world) = &self.world else {
            return ask(&others, &self.state());
        };
        let all = inflight_calls::of_this_process();
        let state = |rank: usize| {
            let home = Home {
                rank,
                ..self.recorder.home
            };
            match all.iter().find(|call| call.recorder.home == home) {
                Some(call) => call.state(),
                None if world.has_ended(rank) => RankState::Ended,
                None => RankState::Idle,
            }
        };
        others.into_iter().map(|rank| (rank, state(rank))).collect()
    }

    /// Reports that it has timed out. At the limit of a communicator or of a call the program
    /// handles the error itself, and there is no dump.
    pub(super) fn report<'a>(
        &'a self,
        limit: Limit,
        states: &'a [(usize, RankState)],
    ) -> Report<'a> {
        let report = Report {
            of: self,
            limit,
            states,
        };
        if matches!(limit.origin, Origin::Environment | Origin::Builder) {
            let rank = self.recorder.place.0;
            dump::write(Reason::TimeLimit, Some(&report), Some(rank));
        }
        if self.world.is_none() {
            has_passed(limit);
        }
        report
    }

    /// Applies the effect that was chosen for the limit.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`].
    #[cold]
    pub(crate) fn is_late(&self, states: &[(usize, RankState)]) -> Result<()> {
        let Some(limit) = self.limit else {
            return Ok(());
        };
        let report = self.report(limit, states);
        self.is_told.store(true, Ordering::Relaxed);
        match limit.then {
            OnTimeLimit::Error => Err(Error::with_text(
                ErrorKind::TimedOut,
                self.what.operation(),
                report.to_string(),
            )),
            OnTimeLimit::Warn => {
                report.warn();
                Ok(())
            }
            OnTimeLimit::Abort => {
                last_words(format_args!("{report}; the job is aborted"));
                if self.world.is_some() {
                    std::process::exit(STATUS);
                }
                abort_for_sure(STATUS)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_asked_all_and_of_many_each_is_asked_by_some() {
        assert_eq!(asked(1, 4, None), [0, 2, 3]);
        for size in [65, 1_000, 1_001] {
            let mut by = vec![0; size];
            for rank in 0..size {
                let asked = asked(rank, size, None);
                assert!(!asked.contains(&rank));
                asked.iter().for_each(|other| by[*other] += 1);
            }
            assert!(by.iter().all(|by| (7..=20).contains(by)), "{by:?}");
        }
        let far = asked(3, 1_000_000, Some(777));
        assert!(far.len() <= 41 && far.contains(&777) && far.contains(&4));
    }
}
