//! Waiting: a rank looks for a while, then sleeps until its message has arrived, or can never come,
//! and is woken.
//!
//! A thread that sleeps says so in `sleepers` before it looks for the last time, and who changes
//! something looks there after the change: with a fence on both sides, one of them sees the other.

use std::sync::atomic::{Ordering, fence};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::inbox::Inbox;
use super::mailbox::{Pattern, Queues};
use super::world::{Mailbox, World};
use crate::call::limit;
use crate::call::lock::lock;
use crate::result::{Error, ErrorKind, Result};

impl Mailbox {
    /// Announces that this thread is going to sleep, until the guard is dropped; it has to look
    /// once more after that.
    pub(crate) fn sleeper(&self) -> Sleeper<'_> {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        Sleeper(self)
    }

    #[cold]
    fn wake(&self) {
        let sleeps = lock(&self.inbox).wakes();
        if sleeps {
            self.changed.notify_all();
        }
    }

    /// Notes that a message has arrived; to be called with the inbox locked.
    pub(crate) fn note_arrival(&self) {
        let before = self.arrivals.load(Ordering::Relaxed);
        self.arrivals
            .store(before.wrapping_add(1), Ordering::Release);
    }

    /// Sleeps until such a message arrives, something else changes, or the time is up.
    pub(crate) fn sleep<'a>(
        &'a self,
        mut inbox: MutexGuard<'a, Inbox>,
        until: Option<Pattern>,
        left: Option<Duration>,
    ) -> MutexGuard<'a, Inbox> {
        let since = inbox.sleeps(until);
        let mut inbox = match left {
            None => self.changed.wait(inbox),
            Some(left) => match self.changed.wait_timeout(inbox, left) {
                Ok((inbox, _)) => Ok(inbox),
                Err(poisoned) => Ok(poisoned.into_inner().0),
            },
        }
        .unwrap_or_else(PoisonError::into_inner);
        inbox.awakes(until, since);
        inbox
    }

    /// Sleeps until `look` returns a value. It is called, with the inbox locked, each time that
    /// something has changed; and at `end`, which takes the place of the operation's limit.
    ///
    /// # Errors
    /// Those of `look`; [`ErrorKind::TimedOut`].
    pub(crate) fn until<R>(
        &self,
        end: Option<Instant>,
        mut look: impl FnMut() -> Result<Option<R>>,
    ) -> Result<R> {
        let _sleeper = self.sleeper();
        let mut inbox = lock(&self.inbox);
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            inbox = match end {
                None => self.rest(inbox, None)?,
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    self.sleep(inbox, None, Some(left))
                }
            };
        }
    }

    /// As [`sleep`](Self::sleep), or until the operation times out.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`].
    pub(crate) fn rest<'a>(
        &'a self,
        inbox: MutexGuard<'a, Inbox>,
        until: Option<Pattern>,
    ) -> Result<MutexGuard<'a, Inbox>> {
        let limited = limit::in_time();
        let limited = limited.and_then(|under_way| under_way.left().map(|left| (under_way, left)));
        let Some((under_way, left)) = limited else {
            return Ok(self.sleep(inbox, until, None));
        };
        if left.is_zero() {
            drop(inbox);
            under_way.is_late(&under_way.states())?;
            return Ok(lock(&self.inbox));
        }
        Ok(self.sleep(inbox, until, Some(left)))
    }
}

/// Guard of a thread that sleeps.
pub(crate) struct Sleeper<'a>(&'a Mailbox);

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.0.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl World {
    pub(crate) fn wake_all(&self) {
        self.wake_each(0..self.size());
    }

    /// Wakes a rank that waits, so that it looks again.
    pub(crate) fn wake(&self, rank: usize) {
        self.wake_each([rank]);
    }

    /// Wakes those of the ranks that wait, so that they look again.
    ///
    /// Locking the inbox before waking means that no waiter can look and then sleep through the
    /// change. A rank that does not sleep by then has still to look.
    pub(crate) fn wake_each(&self, ranks: impl IntoIterator<Item = usize>) {
        fence(Ordering::SeqCst);
        for rank in ranks {
            let mailbox = &self.mailboxes[rank];
            if mailbox.sleepers.load(Ordering::Relaxed) > 0 {
                mailbox.wake();
            }
        }
    }

    /// Waits, as `me`, until `look` returns a value; see [`World::look_for`].
    pub(crate) fn wait_for<R>(
        &self,
        operation: &'static str,
        me: usize,
        mut look: impl FnMut() -> Result<R, (usize, usize)>,
    ) -> Result<R> {
        self.mailboxes[me].until(None, || self.look_for(operation, me, &mut look))
    }

    /// The value of `look`; otherwise that returns the rank that it waits for, and its rank in the
    /// world.
    pub(crate) fn look_for<R>(
        &self,
        operation: &'static str,
        me: usize,
        look: &mut impl FnMut() -> Result<R, (usize, usize)>,
    ) -> Result<Option<R>> {
        let ended = |rank: usize| self.has_ended(rank);
        match look() {
            Ok(found) => return Ok(Some(found)),
            Err((_, rank)) if ended(rank) => {}
            Err(_) => return self.no_failure(operation, me).map(|()| None),
        }
        // All that it did before it ended is visible by now.
        match look() {
            Ok(found) => Ok(Some(found)),
            Err((awaited, rank)) if ended(rank) => {
                self.no_failure(operation, me)?;
                let detail = format_args!("rank {awaited} ended without doing its part");
                Err(Error::new(ErrorKind::PeerFailed, operation, detail))
            }
            Err(_) => self.no_failure(operation, me).map(|()| None),
        }
    }

    pub(crate) fn wait<R>(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
        members: &[usize],
        mut look: impl FnMut(&mut Queues) -> Option<R>,
    ) -> Result<R> {
        let mailbox = &self.mailboxes[me];
        self.not_revoked(operation, pattern.context)?;
        // Loaded first: another thread of this rank may move the message from the inbox.
        let mut seen = mailbox.arrivals.load(Ordering::Acquire);
        if let Some(found) = look(&mut self.queues(me)) {
            return Ok(found);
        }
        let found = self.patience.look(|| {
            let arrived = mailbox.arrivals.load(Ordering::Acquire);
            if arrived == seen {
                return None;
            }
            seen = arrived;
            look(&mut self.queues(me))
        });
        if let Some(found) = found {
            return Ok(found);
        }
        let _sleeper = mailbox.sleeper();
        loop {
            self.not_revoked(operation, pattern.context)?;
            let mut queues = self.queues(me);
            if let Some(found) = look(&mut queues) {
                return Ok(found);
            }
            let inbox = lock(&mailbox.inbox);
            // No thread moves messages while the inbox is locked, and none has since `look`.
            drop(queues);
            if inbox.messages.is_empty() {
                self.still_possible(operation, me, pattern, members, true)?;
                drop(mailbox.rest(inbox, Some(*pattern))?);
            }
        }
    }

    /// The value of `look` if there is one now.
    ///
    /// # Errors
    /// That of [`still_possible`](Self::still_possible).
    pub(crate) fn look_once<R>(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
        members: &[usize],
        mut look: impl FnMut(&mut Queues) -> Option<R>,
    ) -> Result<Option<R>> {
        if let Some(found) = look(&mut self.queues(me)) {
            return Ok(Some(found));
        }
        let Err(never) = self.still_possible(operation, me, pattern, members, false) else {
            return Ok(None);
        };
        // It may have arrived in between.
        look(&mut self.queues(me)).map(Some).ok_or(never)
    }

    /// Returns an error if the message that `pattern` asks for can never come. A rank that does not
    /// wait for it may send it to itself.
    ///
    /// A sender delivers before it ends, so that all of a sender that has ended is there. What was
    /// looked for before may have arrived in between, unless the inbox has been locked since then.
    fn still_possible(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
        members: &[usize],
        waits: bool,
    ) -> Result<()> {
        self.not_revoked(operation, pattern.context)?;
        self.no_failure(operation, me)?;
        let ended = |rank: usize| self.has_ended(rank);
        let nobody_left = match pattern.source {
            Some(source) => ended(members[source]),
            // A rank that is alone may have a thread that sends.
            None => {
                waits
                    && members.iter().any(|&rank| rank != me)
                    && members.iter().all(|&rank| rank == me || ended(rank))
            }
        };
        if nobody_left {
            let who = pattern.source.map(|source| format!("rank {source}"));
            let who = who.as_deref().unwrap_or("every other rank");
            let detail = format_args!("{who} ended without sending a message that matches");
            return Err(Error::new(ErrorKind::PeerFailed, operation, detail));
        }
        Ok(())
    }
}
