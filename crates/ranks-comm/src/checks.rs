//! Comparison of collective calls across ranks before they start.

use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::time::Duration;

use crate::backend::Backend;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::inflight_calls::{self, Hold};
use crate::limit;
use crate::record::{Class, Kind};
use crate::runtime::Builder;

/// The level of checks before a call. From [`Builder::checks`] or `RANKS_CHECK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Checks {
    /// Everything that one rank can check alone: ranks, tags, lengths, threads. There is no lower level. `RANKS_CHECK=local` or
    /// `off`.
    Local,
    /// In addition, before each collective the ranks compare their calls: operation, root, element type, lengths and reduction.
    /// The same holds where communicators, topologies and windows are made. If they differ, or a rank refuses its own arguments,
    /// all of them get an error, where a library would deadlock, mix up data or write past a buffer.
    /// `RANKS_CHECK=collective`.
    ///
    /// It costs an exchange of 256 bytes of each rank for every collective, and one more of the counts for an exchange of blocks of
    /// different lengths. Between two ranks on one machine (MPICH 4.0, Open MPI 4.1) a barrier or the sum of one `f64` took 5 to 7
    /// times as long with it, 2 to 4 µs more, and the sum of 64 kB 1.0 to 1.4 times.
    ///
    /// Persistent collectives are compared when they are prepared, not when they are started. Nonblocking collectives are
    /// compared while they are pending: the start does not block, and the wait returns the error. As some ranks have started an
    /// operation that others never will, the operation is left to the runtime then, and the communicator is out of step. The end
    /// of the runtime is the last collective of the world: ranks that are in another one get the same error as those that end.
    ///
    /// Only calls that all ranks of one communicator make are compared, and a window has a communicator of its own. Ranks that
    /// wait for each other in calls on different ones (a barrier here and a fence there, fences of two windows in different
    /// order, over MPI the end of the program), in calls that only some ranks make (`create_group`; post, start, complete and
    /// wait of a window), or in epochs of different shared windows, wait up to the [limit](crate::Builder::check_limit),
    /// whose error names the call that each of them is in; without a limit they deadlock. Calls on intercommunicators are not
    /// compared, nor calls on communicators that another part of the program has made.
    ///
    /// Open MPI might write past a slice in some configurations ([`Facts::receives`](crate::Facts::receives)): there all
    /// collectives are always compared, and before they start; nonblocking ones wait for the other ranks there.
    Collective,
}

impl Checks {
    /// [`Collective`](Self::Collective) where ranks was built with debug assertions, [`Local`](Self::Local) elsewhere.
    pub(crate) const fn of_this_build() -> Self {
        if cfg!(debug_assertions) {
            Self::Collective
        } else {
            Self::Local
        }
    }
}

/// The settings of the comparison of calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comparing {
    pub(crate) checks: Checks,
    /// The time to wait for the other ranks; [`Duration::MAX`] is for ever.
    pub(crate) limit: Duration,
}

impl Comparing {
    /// Keeps the calls that threads are in, where ranks compare their calls and report them at a limit.
    pub(crate) fn hold(&self, compares: bool) -> Option<Hold> {
        (compares && self.limit < Duration::MAX).then(Hold::new)
    }
}

impl Builder {
    /// Sets the level of checks, whatever `RANKS_CHECK` says; the same on every rank.
    ///
    /// The default is [`Checks::Collective`] in builds with debug assertions, [`Checks::Local`] otherwise.
    pub fn checks(mut self, checks: Checks) -> Self {
        self.checks = Some(checks);
        self
    }

    /// Sets the time that a rank waits for all others to come to a collective where calls are compared, whatever
    /// `RANKS_CHECK_LIMIT` (in seconds) says. For ever if neither is given.
    ///
    /// After the limit the collective is [`ErrorKind::TimedOut`] on the ranks that came, and so is every later one on that
    /// communicator. The error names the calls that the other ranks are in, also of those that have come to the end of the
    /// program. The limit of a nonblocking collective is on the wait, not on the time from start to end. Calls that only some
    /// ranks make have the same limit, as if it were a [time limit](Self::time_limit): over MPI, where the library cannot be
    /// left, the job is aborted.
    pub fn check_limit(mut self, limit: Duration) -> Self {
        self.check_limit = Some(limit);
        self
    }
}

static AGREE: Kind = Kind::of(Class::Collective, "Communicator::agree");

impl Communicator {
    /// Combines the results of all ranks: `Ok` if it is `Ok` everywhere; otherwise the same error on all of them,
    /// which names the first rank that failed, in rank order, and its error. Collective.
    ///
    /// For work that only one rank does, or that may fail on some, so that the others do not go on alone:
    ///
    /// ```
    /// # ranks_comm::run(|world| {
    /// let found = if world.rank() == 0 { "12".parse::<u32>() } else { Ok(0) };
    /// let found = world.agree(found)?; // had it failed, all ranks would leave here
    /// # assert!(found == 12 || world.rank() > 0);
    /// # Ok::<(), ranks_comm::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::PeerFailed`] if any rank passes an `Err`; its text is cut after about a thousand bytes.
    pub fn agree<T, E: Display>(&self, result: Result<T, E>) -> Result<T> {
        const OPERATION: &str = "Communicator::agree";
        const ROOM: usize = 1024;
        let mut told = [0u8; ROOM];
        let value = result
            .map_err(|error| {
                told[0] = 1;
                put_text(&mut told[1..], &error.to_string());
            })
            .ok();
        let _entered = self.enter(&AGREE)?;
        self.all_call(OPERATION, Ok(()))?;
        let all = self.exchange_within(OPERATION, &told)?;
        let mut failed = all
            .chunks(ROOM)
            .enumerate()
            .filter(|(_, told)| told.first() == Some(&1));
        match (failed.next(), value) {
            (None, Some(value)) => Ok(value),
            (first, _) => {
                let (rank, text) = first.map_or((self.rank(), ""), |(rank, told)| {
                    (rank, get_text(told.get(1..).unwrap_or_default()))
                });
                let mut detail = format!("rank {rank} of {} failed: {text}", self.size());
                match failed.count() {
                    0 => {}
                    // Writing to a string does not fail.
                    more => drop(write!(detail, " (and so did {more} more)")),
                }
                Err(Error::new(ErrorKind::PeerFailed, OPERATION, detail))
            }
        }
    }

    /// Returns `true` if ranks compare their collective calls on this communicator.
    #[doc(hidden)]
    #[must_use]
    pub fn compares_calls(&self) -> bool {
        self.size() > 1
            && !self.is_between()
            && match self.backend() {
                Backend::Mpi(comm) => comm.compares(),
                Backend::InProcess(comm) => comm.compares(),
            }
    }

    /// Returns `true` if the library may write past a slice in collectives whose ranks pass different lengths: such collectives are
    /// always compared, nonblocking ones too, which therefore wait for the other ranks.
    #[doc(hidden)]
    #[must_use]
    pub fn may_overrun(&self) -> bool {
        match self.backend() {
            Backend::Mpi(comm) => comm.may_overrun(),
            Backend::InProcess(_) => false,
        }
    }

    /// # Errors
    /// [`ErrorKind::TimedOut`] after a collective that has left the ranks out of step.
    #[doc(hidden)]
    pub fn must_be_in_step(&self, operation: &'static str) -> Result<()> {
        if !self.is_out_of_step() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::TimedOut,
            operation,
            "ranks are out of step on this communicator: at a collective before, not all of them came in time, or some began another one",
        ))
    }

    /// Runs the collective of that C name among threads, unless an earlier one has timed out.
    #[doc(hidden)]
    pub fn keeping_step<R>(
        &self,
        operation: &'static str,
        collective: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        self.must_be_in_step(operation)?;
        let result = collective();
        if let Err(error) = &result
            && error.kind() == ErrorKind::TimedOut
        {
            self.lose_step();
        }
        result
    }

    /// Returns `true` if the call that this thread is in may time out, so that it must not block in a library.
    #[doc(hidden)]
    #[must_use]
    pub fn ends_in_time(&self) -> bool {
        limit::may_end().is_some()
    }

    /// Exchanges bytes: returns those of all ranks, in rank order; all pass as many. Collective.
    #[doc(hidden)]
    pub fn exchange(&self, operation: &'static str, mine: &[u8]) -> Result<Arc<[u8]>> {
        let _entered = self.enter(operation)?;
        self.all_call(operation, Ok(()))?;
        self.exchange_within(operation, mine)
    }

    /// As [`exchange`](Self::exchange), within `operation`, which has been entered.
    #[doc(hidden)]
    pub fn exchange_within(&self, operation: &'static str, mine: &[u8]) -> Result<Arc<[u8]>> {
        self.must_be_in_step(operation)?;
        let limited = limit::may_end();
        let left = limited.as_ref().and_then(|under_way| under_way.left());
        let left = left.unwrap_or(Duration::MAX);
        let exchanged = match self.backend() {
            Backend::Mpi(comm) => comm.exchange(mine, self.size(), left)?.map(Into::into),
            Backend::InProcess(comm) => comm.exchange(mine, left)?,
        };
        if let (None, Some(under_way)) = (&exchanged, limited)
            && under_way.left() == Some(Duration::ZERO)
        {
            self.lose_step();
            under_way.is_late(&under_way.states())?;
        }
        exchanged.ok_or_else(|| self.not_all_came(operation))
    }

    /// The time that ranks wait for each other where they compare their calls; [`Duration::MAX`] is for ever.
    pub(crate) fn check_limit(&self) -> Duration {
        match self.backend() {
            Backend::Mpi(comm) => comm.check_limit(),
            Backend::InProcess(comm) => comm.check_limit(),
        }
    }

    /// The error of a comparison that timed out; later exchanges of the ranks would not match, so that they are out of step.
    #[cold]
    pub(crate) fn not_all_came(&self, operation: &'static str) -> Error {
        self.lose_step();
        let size = self.size();
        let call = inflight_calls::here();
        let others = call.as_ref().map(|call| call.states());
        let others = limit::Others(call.as_deref(), others.as_deref().unwrap_or_default());
        not_all_came(operation, size, &others)
    }
}

/// The error of a comparison among `size` ranks that timed out; `others` begins with a separator.
pub(crate) fn not_all_came(operation: &'static str, size: usize, others: &dyn Display) -> Error {
    Error::new(
        ErrorKind::TimedOut,
        operation,
        format_args!(
            "not all of the {size} ranks have come within the time limit (RANKS_CHECK_LIMIT); \
             a collective must be called by all ranks of its communicator{others}"
        ),
    )
}

/// Writes as much of `text` into `room` as fits; the first two bytes are the length.
pub(crate) fn put_text(room: &mut [u8], text: &str) {
    let Some((head, body)) = room.split_at_mut_checked(2) else {
        return;
    };
    let mut end = text.len().min(body.len()).min(usize::from(u16::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    body[..end].copy_from_slice(&text.as_bytes()[..end]);
    let length = u16::try_from(end).unwrap_or(0);
    head.copy_from_slice(&length.to_le_bytes());
}

/// The text that [`put_text`] has written; empty if there is none.
#[must_use]
pub(crate) fn get_text(room: &[u8]) -> &str {
    let Some((&head, body)) = room.split_first_chunk::<2>() else {
        return "";
    };
    let body = body.get(..usize::from(u16::from_le_bytes(head)));
    std::str::from_utf8(body.unwrap_or_default()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let mut room = [0u8; 8];
        put_text(&mut room, "abcdeé");
        assert_eq!(get_text(&room), "abcde");
        put_text(&mut room, "");
        assert_eq!(get_text(&room), "");
    }

    #[test]
    fn what_is_no_text_is_none() {
        assert_eq!(get_text(&[9, 0, b'a']), "");
        assert_eq!(get_text(&[1, 0, 0xff]), "");
        assert_eq!(get_text(&[1]), "");
    }
}
