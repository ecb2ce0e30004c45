//! The ranks of one in-process run: their mailboxes, who has ended, and what failed first.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::agreements::Agreements;
use super::mailbox::{Envelope, Pattern, Queues, Receipt};
use super::meetings::{Meetings, Outcome, Word};
use super::shared::Shared;
use crate::checks::Comparing;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::Gate;
use crate::limit::{self, Limit};
use crate::observe;
use crate::record::Home;
use crate::thread_level::ThreadLevel;
use crate::under_way::Hold;

/// The context of the world communicator's messages; collectives use the odd number that follows an even one.
pub(crate) const WORLD_CONTEXT: u64 = 0;

/// All ranks of a run.
#[derive(Debug)]
pub(crate) struct World {
    /// No other one of this process has it; none has 0.
    number: u64,
    /// When it began, for all of its ranks.
    pub(crate) job: u64,
    mailboxes: Box<[Mailbox]>,
    next_context: AtomicU64,
    pub(super) agreements: Agreements,
    pub(super) shared: Shared,
    /// In the order in which they came.
    failures: Mutex<Vec<Failure>>,
    /// How many they are.
    failed: AtomicUsize,
    meetings: Meetings,
    /// Contexts of communicators that were revoked.
    revoked: Mutex<HashSet<u64>>,
    any_revoked: AtomicBool,
    /// How long operations may wait.
    limit: Option<(Limit, Hold)>,
}

#[derive(Debug, Default)]
struct Mailbox {
    queues: Mutex<Queues>,
    changed: Condvar,
    ended: AtomicBool,
    /// How many failures this rank has taken note of: only later ones end its waiting.
    acknowledged: AtomicUsize,
}

impl Mailbox {
    /// Waits until something has changed, or an operation has come to its limit.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`].
    fn rest<'a>(&'a self, queues: MutexGuard<'a, Queues>) -> Result<MutexGuard<'a, Queues>> {
        let limited = limit::in_time();
        let limited = limited.and_then(|under_way| under_way.left().map(|left| (under_way, left)));
        let Some((under_way, left)) = limited else {
            let woken = self.changed.wait(queues);
            return Ok(woken.unwrap_or_else(PoisonError::into_inner));
        };
        if left.is_zero() {
            drop(queues);
            under_way.is_late(&under_way.states())?;
            return Ok(lock(&self.queues));
        }
        let woken = self.changed.wait_timeout(queues, left);
        Ok(woken.unwrap_or_else(PoisonError::into_inner).0)
    }
}

/// A rank that failed, and how. The first is the cause of all that fails later, unless the others go on without it.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) rank: usize,
    pub(crate) what: String,
}

/// A lock whose holder panicked holds valid data all the same: no code between lock and unlock can panic half-way.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    #[cfg(test)]
    pub(crate) fn new(size: usize) -> Self {
        Self::limited(size, None)
    }

    /// Of so many ranks, whose operations may wait so long.
    pub(crate) fn limited(size: usize, limit: Option<Limit>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            job: observe::new_job(),
            mailboxes: (0..size).map(|_| Mailbox::default()).collect(),
            next_context: AtomicU64::new(WORLD_CONTEXT + 2),
            agreements: Agreements::default(),
            shared: Shared::default(),
            failures: Mutex::default(),
            failed: AtomicUsize::new(0),
            meetings: Meetings::default(),
            revoked: Mutex::default(),
            any_revoked: AtomicBool::new(false),
            limit: limit.map(|limit| (limit, Hold::new())),
        }
    }

    /// How long operations may wait, if nobody has said more about them.
    pub(crate) fn limit(&self) -> Option<Limit> {
        self.limit.as_ref().map(|(limit, _)| *limit)
    }

    /// Whether a rank will neither send nor receive any more.
    pub(crate) fn has_ended(&self, rank: usize) -> bool {
        self.mailboxes
            .get(rank)
            .is_none_or(|mailbox| mailbox.ended.load(Ordering::Acquire))
    }

    pub(crate) fn size(&self) -> usize {
        self.mailboxes.len()
    }

    /// Publishes what was observed of its ranks, which make no more calls; once.
    pub(crate) fn end_observing(&self) {
        observe::end_of_world(self.number);
    }

    /// The first of `count` new contexts; they are two apart, the odd ones are for collectives.
    pub(crate) fn new_contexts(&self, count: usize) -> u64 {
        self.next_context
            .fetch_add(2 * count as u64, Ordering::Relaxed)
    }

    /// Leaves a message in the mailbox of `dest`, a rank of the world.
    pub(crate) fn deliver(&self, dest: usize, context: u64, message: Envelope) {
        let mailbox = &self.mailboxes[dest];
        let receipt = lock(&mailbox.queues).push(context, message);
        mailbox.changed.notify_all();
        self.acknowledge(receipt.as_ref());
    }

    /// Posts a receive for `me`, and gives its number.
    pub(crate) fn post(&self, me: usize, pattern: Pattern) -> u64 {
        let (number, receipt) = lock(&self.mailboxes[me].queues).post(pattern);
        self.acknowledge(receipt.as_ref());
        number
    }

    /// The message of a posted receive; waits for it.
    pub(crate) fn await_posted(
        &self,
        operation: &'static str,
        me: usize,
        number: u64,
        pattern: &Pattern,
        members: &[usize],
    ) -> Result<Envelope> {
        self.wait(operation, me, pattern, members, |queues| {
            queues.collect(number)
        })
    }

    /// The message of a posted receive, if it has arrived.
    pub(crate) fn collect_posted(
        &self,
        operation: &'static str,
        me: usize,
        number: u64,
        pattern: &Pattern,
        members: &[usize],
    ) -> Result<Option<Envelope>> {
        let mut queues = lock(&self.mailboxes[me].queues);
        match queues.collect(number) {
            Some(message) => Ok(Some(message)),
            None => self
                .still_possible(operation, me, pattern, members)
                .map(|()| None),
        }
    }

    /// Takes a posted receive back; `false` if its message has arrived.
    pub(crate) fn take_back(&self, me: usize, number: u64) -> bool {
        lock(&self.mailboxes[me].queues).take_back(number)
    }

    /// Throws away what arrives for a posted receive.
    pub(crate) fn abandon(&self, me: usize, number: u64) {
        lock(&self.mailboxes[me].queues).abandon(number);
    }

    /// Whether a synchronous message has been matched; an error if it never can be.
    pub(crate) fn is_received(
        &self,
        operation: &'static str,
        receipt: &Receipt,
        dest: usize,
    ) -> Result<bool> {
        if receipt.is_signed() {
            return Ok(true);
        }
        self.not_revoked(operation, receipt.context)?;
        self.no_failure(operation, receipt.sender)?;
        if self.mailboxes[dest].ended.load(Ordering::Acquire) && !receipt.is_signed() {
            return Err(Error::new(
                ErrorKind::PeerFailed,
                operation,
                format_args!("rank {dest} of the world ended without receiving the message"),
            ));
        }
        Ok(receipt.is_signed())
    }

    /// Takes the first message for `me` that matches, and waits until there is one.
    ///
    /// `members` are the world ranks of the communicator, for telling that nobody is left to send.
    pub(crate) fn receive(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
        members: &[usize],
    ) -> Result<Envelope> {
        let found = self.wait(operation, me, pattern, members, |queues| {
            queues.take(pattern)
        })?;
        self.acknowledge(found.receipt.as_ref());
        Ok(found)
    }

    /// As [`World::receive`], but looks only: source, tag and length in bytes of the first message that matches.
    pub(crate) fn probe(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
        members: &[usize],
    ) -> Result<(usize, i32, usize)> {
        self.wait(operation, me, pattern, members, |queues| {
            queues.peek(pattern).map(describe)
        })
    }

    /// Takes the first message that matches, if there is one.
    pub(crate) fn try_receive(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
    ) -> Result<Option<Envelope>> {
        let mut queues = lock(&self.mailboxes[me].queues);
        let Some(found) = queues.take(pattern) else {
            return self.no_failure(operation, me).map(|()| None);
        };
        drop(queues);
        self.acknowledge(found.receipt.as_ref());
        Ok(Some(found))
    }

    /// As [`try_receive`](Self::try_receive), but an error if the message can never come.
    pub(crate) fn try_receive_from(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
        members: &[usize],
    ) -> Result<Option<Envelope>> {
        let mut queues = lock(&self.mailboxes[me].queues);
        match queues.take(pattern) {
            Some(found) => Ok(Some(found)),
            None => self
                .still_possible(operation, me, pattern, members)
                .map(|()| None),
        }
    }

    /// Describes the first message that matches, if there is one.
    pub(crate) fn try_probe(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
    ) -> Result<Option<(usize, i32, usize)>> {
        let queues = lock(&self.mailboxes[me].queues);
        match queues.peek(pattern).map(describe) {
            Some(found) => Ok(Some(found)),
            None => self.no_failure(operation, me).map(|()| None),
        }
    }

    /// Waits until the message that carries `receipt` has been matched by `dest`.
    pub(crate) fn await_receipt(
        &self,
        operation: &'static str,
        receipt: &Receipt,
        dest: usize,
    ) -> Result<()> {
        let mailbox = &self.mailboxes[receipt.sender];
        let mut queues = lock(&mailbox.queues);
        loop {
            if self.is_received(operation, receipt, dest)? {
                return Ok(());
            }
            queues = mailbox.rest(queues)?;
        }
    }

    /// Records that `rank` failed, and ends everybody's waiting.
    pub(crate) fn fail(&self, rank: usize, what: String) {
        let mut failures = lock(&self.failures);
        failures.push(Failure { rank, what });
        self.failed.store(failures.len(), Ordering::Release);
        drop(failures);
        self.wake_all();
    }

    /// The ranks that have failed, of the first so many failures.
    pub(super) fn failed_ranks(&self, failures: usize) -> Vec<usize> {
        let all = lock(&self.failures);
        all.iter()
            .take(failures)
            .map(|failure| failure.rank)
            .collect()
    }

    /// How many failures `me` has taken note of.
    pub(super) fn acknowledged(&self, me: usize) -> usize {
        self.mailboxes[me].acknowledged.load(Ordering::Relaxed)
    }

    /// From now on the first so many failures do not end the waiting of `me`.
    pub(super) fn acknowledge_failures(&self, me: usize, failures: usize) {
        let acknowledged = &self.mailboxes[me].acknowledged;
        acknowledged.fetch_max(failures, Ordering::Relaxed);
    }

    /// Ends the waiting of all on the communicator of that context.
    pub(super) fn revoke(&self, context: u64) {
        lock(&self.revoked).insert(context);
        self.any_revoked.store(true, Ordering::Release);
        self.wake_all();
    }

    pub(super) fn is_revoked(&self, context: u64) -> bool {
        self.any_revoked.load(Ordering::Acquire) && lock(&self.revoked).contains(&context)
    }

    /// An error if the communicator of that context, which may be the one for its collectives, is revoked.
    pub(super) fn not_revoked(&self, operation: &'static str, context: u64) -> Result<()> {
        // The odd ones are for collectives.
        if !self.is_revoked(context & !1) {
            return Ok(());
        }
        let what = "this communicator was revoked; shrink it and go on with the new one";
        Err(Error::new(ErrorKind::Revoked, operation, what))
    }

    /// Meets all members that are left, and returns what they have come to.
    pub(super) fn meet(&self, context: u64, me: usize, members: &[usize], word: Word) -> Outcome {
        let number = self.meetings.come(context, me, word);
        self.wake_all();
        let mailbox = &self.mailboxes[me];
        let mut queues = lock(&mailbox.queues);
        loop {
            let failed = self.failed_ranks(usize::MAX);
            let gone = |rank: usize| self.mailboxes[rank].ended.load(Ordering::Acquire);
            let new_context = || self.new_contexts(1);
            let meeting = (context, number);
            let outcome = self
                .meetings
                .outcome(meeting, members, gone, &failed, new_context);
            if let Some(outcome) = outcome {
                return outcome;
            }
            queues = mailbox
                .changed
                .wait(queues)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Records that `rank` will neither send nor receive any more.
    pub(crate) fn end(&self, rank: usize) {
        self.mailboxes[rank].ended.store(true, Ordering::Release);
        self.wake_all();
    }

    /// What failed first.
    pub(crate) fn failure(&self) -> Option<Failure> {
        lock(&self.failures).first().cloned()
    }

    fn wake_all(&self) {
        for rank in 0..self.size() {
            self.wake(rank);
        }
    }

    /// Wakes a rank that waits, so that it looks again.
    ///
    /// Locking the mailbox before waking means that no waiter can look and then sleep through the change.
    pub(super) fn wake(&self, rank: usize) {
        let mailbox = &self.mailboxes[rank];
        drop(lock(&mailbox.queues));
        mailbox.changed.notify_all();
    }

    /// Waits, as `me`, until `look` finds what it looks for; see [`World::look_for`].
    pub(super) fn wait_for<R>(
        &self,
        operation: &'static str,
        me: usize,
        mut look: impl FnMut() -> Result<R, (usize, usize)>,
    ) -> Result<R> {
        let mailbox = &self.mailboxes[me];
        let mut queues = lock(&mailbox.queues);
        loop {
            if let Some(found) = self.look_for(operation, me, &mut look)? {
                return Ok(found);
            }
            queues = mailbox.rest(queues)?;
        }
    }

    /// What `look` finds; else it gives the rank for whose deed it waits, and which rank of the world that is.
    pub(super) fn look_for<R>(
        &self,
        operation: &'static str,
        me: usize,
        look: &mut impl FnMut() -> Result<R, (usize, usize)>,
    ) -> Result<Option<R>> {
        let ended = |rank: usize| self.mailboxes[rank].ended.load(Ordering::Acquire);
        match look() {
            Ok(found) => return Ok(Some(found)),
            Err((_, rank)) if ended(rank) => {}
            Err(_) => return self.no_failure(operation, me).map(|()| None),
        }
        // What it did before it ended can be seen by now.
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

    fn wait<R>(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
        members: &[usize],
        mut look: impl FnMut(&mut Queues) -> Option<R>,
    ) -> Result<R> {
        let mailbox = &self.mailboxes[me];
        let mut queues = lock(&mailbox.queues);
        loop {
            self.not_revoked(operation, pattern.context)?;
            if let Some(found) = look(&mut queues) {
                return Ok(found);
            }
            self.still_possible(operation, me, pattern, members)?;
            queues = mailbox.rest(queues)?;
        }
    }

    /// An error if the message that `pattern` asks for can never come.
    ///
    /// To be called with the mailbox locked since it was searched: a sender delivers before it ends, so one that has
    /// ended cannot have delivered in between.
    fn still_possible(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
        members: &[usize],
    ) -> Result<()> {
        self.not_revoked(operation, pattern.context)?;
        self.no_failure(operation, me)?;
        let ended = |rank: usize| self.mailboxes[rank].ended.load(Ordering::Acquire);
        let (nobody_left, who) = match pattern.source {
            Some(source) => (
                ended(members[source]),
                format_args!("rank {source}").to_string(),
            ),
            None => (
                // A rank that is alone may have a thread that sends.
                members.iter().any(|&rank| rank != me)
                    && members.iter().all(|&rank| rank == me || ended(rank)),
                "every other rank".to_owned(),
            ),
        };
        if nobody_left {
            return Err(Error::new(
                ErrorKind::PeerFailed,
                operation,
                format_args!("{who} ended without sending a message that matches"),
            ));
        }
        Ok(())
    }

    /// An error if a rank has failed of which `me` has not taken note.
    fn no_failure(&self, operation: &'static str, me: usize) -> Result<()> {
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

    fn acknowledge(&self, receipt: Option<&Receipt>) {
        if let Some(receipt) = receipt {
            let mailbox = &self.mailboxes[receipt.sender];
            let queues = lock(&mailbox.queues);
            receipt.sign();
            drop(queues);
            mailbox.changed.notify_all();
        }
    }
}

fn describe(message: &Envelope) -> (usize, i32, usize) {
    (message.source, message.tag, message.payload.len())
}

/// One rank's place in the world; when its last holder lets go, the rank has ended.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) world: std::sync::Arc<World>,
    pub(crate) rank: usize,
    pub(crate) gate: Gate,
    /// How large the buffer is that the rank has attached for buffered sends.
    pub(crate) attached: Mutex<Option<usize>>,
    pub(crate) comparing: Comparing,
}

impl Place {
    /// The place of `rank`, whose initialising thread is this one.
    pub(crate) fn new(
        world: std::sync::Arc<World>,
        rank: usize,
        level: ThreadLevel,
        comparing: Comparing,
    ) -> Self {
        let gate = Gate::new();
        gate.set_level(level);
        Self {
            world,
            rank,
            gate,
            attached: Mutex::default(),
            comparing,
        }
    }

    /// Whose calls are made here.
    pub(crate) fn home(&self) -> Home {
        Home {
            world: self.world.number,
            rank: self.rank,
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.end_observing();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.world.end(self.rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(source: usize) -> Envelope {
        Envelope {
            source,
            tag: 1,
            payload: vec![1, 2, 3],
            receipt: None,
        }
    }

    fn from(source: Option<usize>) -> Pattern {
        Pattern {
            context: 0,
            source,
            tag: None,
        }
    }

    #[test]
    fn a_message_from_a_rank_that_has_ended_is_still_received() {
        let world = World::new(2);
        world.deliver(0, 0, message(1));
        world.end(1);
        let got = world
            .receive("MPI_Recv", 0, &from(Some(1)), &[0, 1])
            .unwrap();
        assert_eq!(got.payload, [1, 2, 3]);
        let error = world
            .receive("MPI_Recv", 0, &from(Some(1)), &[0, 1])
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PeerFailed);
        let error = world
            .receive("MPI_Recv", 0, &from(None), &[0, 1])
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PeerFailed);
    }

    #[test]
    fn a_failure_wakes_those_who_wait_and_names_the_first() {
        let world = World::new(3);
        let error = std::thread::scope(|s| {
            let waiting = s.spawn(|| world.receive("MPI_Recv", 0, &from(Some(1)), &[0, 1, 2]));
            world.fail(2, "no memory".into());
            world.fail(1, "later".into());
            waiting.join().unwrap().unwrap_err()
        });
        assert_eq!(error.kind(), ErrorKind::PeerFailed);
        assert_eq!(error.to_string(), "MPI_Recv: rank 2 of 3 failed: no memory");
    }

    #[test]
    fn a_synchronous_sender_waits_for_its_match() {
        let world = World::new(2);
        let receipt = Receipt::new(0, 0);
        world.deliver(
            1,
            0,
            Envelope {
                receipt: Some(receipt.clone()),
                ..message(0)
            },
        );
        std::thread::scope(|s| {
            let sender = s.spawn(|| world.await_receipt("MPI_Ssend", &receipt, 1));
            world.receive("MPI_Recv", 1, &from(None), &[0, 1]).unwrap();
            sender.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_synchronous_sender_learns_that_nobody_will_receive() {
        let world = World::new(2);
        world.end(1);
        let error = world
            .await_receipt("MPI_Ssend", &Receipt::new(0, 0), 1)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PeerFailed);
    }
}
