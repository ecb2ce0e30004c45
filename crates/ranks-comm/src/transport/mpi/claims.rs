//! Receives that are matched first (matched probe) and posted when the length of the message is
//! known.
//!
//! Two kinds of receive cannot be posted: one into memory that is still to be allocated, and any on
//! a library that writes past the end of a buffer (see `recv`). They wait here, in the order in
//! which they were started. Progress on them matches messages that have arrived (`MPI_Improbe`),
//! compares lengths, and has the library receive them (`MPI_Imrecv`).
//!
//! Matching is as if they were posted. A message goes to the first receive that matches it: where
//! several patterns wait, one from any rank or of any tag only probes (`MPI_Iprobe`), and if an
//! earlier receive matches the message found, that one is looked for instead. As long as any waits
//! here, receives and probes that could overtake it are led here too, by closing the fast path.
//!
//! Progress is made by every wait for one of them and every test, on it and on a few others in
//! turn, so that a call costs the same however many wait; and while this rank is busy elsewhere, by
//! `progress`.
//!
//! Those whose communicator was dropped still wait, as posted ones would, until it is freed.
//! Nothing can overtake them then, so they do not close the fast path. What another part of the
//! program has lent may be freed from then on, so that they end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use ranks_mpi_sys::MPI_Comm;

use super::communicator::Comm;
use super::progress;
use crate::call::limit::Pause;
use crate::call::lock::lock;
use crate::call::thread_guard::THREAD_GUARD;
use crate::data::in_flight::{KeepAlive, Over};
use crate::data::raw_slice::{Element, OpInfo, RecvTarget};
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::{Result, Status};
use crate::transport::completion::Completion;
use order::{Pattern, pattern};
use queue::Queue;

mod entry;
mod matching;
mod order;
mod queue;

/// The number of patterns that a call looks at in turn, besides its own: a test few, since there
/// may be a test for each of many receives.
const BY_TEST: usize = 4;
const BY_WAIT: usize = 256;
const BY_PROGRESS: usize = 1024;

/// The receives of one communicator that wait for their message.
pub(crate) struct Claims {
    pub(crate) comm: MPI_Comm,
    queue: Mutex<Queue>,
    /// The number that have no message yet.
    waiting: AtomicUsize,
}

/// The state of a communicator when a user has left it.
pub(crate) struct Left {
    /// `true` if it was the last one.
    pub(crate) by_all: bool,
    /// `true` if a receive is still pending on it.
    pub(crate) pending: bool,
}

/// A receive in the queue.
#[derive(Debug)]
pub(crate) struct Claim {
    claims: Arc<Claims>,
    place: usize,
    number: u64,
    pattern: Pattern,
    role: &'static OpInfo,
}

impl std::fmt::Debug for Claims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Claims").finish_non_exhaustive()
    }
}

impl Comm {
    /// Starts a receive that is matched first.
    pub(crate) fn claim(
        &self,
        role: &'static OpInfo,
        element: Element,
        landing: RecvTarget,
        source: Source,
        tag: Tag,
    ) -> Claim {
        let claims = Arc::clone(&self.claims);
        let pattern = pattern(source, tag);
        let (place, number) = claims.locked(|queue| {
            let (place, number) = queue.push(role, element, landing, source, tag);
            claims.one_more(queue);
            if !queue.closed && queue.waiting.first(pattern) == Some(place) {
                while claims.look_for_first(queue, pattern) {}
            }
            (place, number)
        });
        if claims.is_waiting() && self.session.polls {
            progress::watch(&claims);
        }
        Claim {
            claims,
            place,
            number,
            pattern,
            role,
        }
    }
}

impl Claim {
    pub(crate) fn operation(&self) -> &'static str {
        self.role.operation
    }

    /// The outcome, if it is complete.
    pub(crate) fn test(&mut self) -> Option<Result<Completion>> {
        self.look(BY_TEST)
    }

    pub(crate) fn wait(&mut self) -> Result<Completion> {
        let mut pause = Pause::default();
        loop {
            if let Some(outcome) = self.look(BY_WAIT) {
                return outcome;
            }
            pause.rest();
        }
    }

    /// Returns `true` if it has no message yet.
    fn waits(&self, queue: &mut Queue) -> bool {
        let entry = queue.get(self.place, self.number);
        entry.is_some_and(|entry| entry.waits())
    }

    /// Makes progress on it, and on so many others if it is not complete then.
    fn look(&self, others: usize) -> Option<Result<Completion>> {
        let claims = &self.claims;
        claims.locked(|queue| {
            let mut any_left = false;
            if self.waits(queue) && !queue.closed {
                any_left = claims.take_in_order(queue);
                while self.waits(queue) && claims.look_for_first(queue, self.pattern) {}
            } else if queue
                .get(self.place, self.number)
                .is_some_and(|entry| entry.is_receiving())
            {
                queue.advance(self.place);
            }
            let outcome = queue.collect(self.place, self.number);
            if outcome.is_none() {
                claims.look_at(queue, others, any_left);
            }
            outcome
        })
    }

    /// Cancels it, if it has no message yet.
    pub(crate) fn cancel(&mut self) -> bool {
        let mut queue = lock(&self.claims.queue);
        let waits = self.waits(&mut queue);
        if waits {
            queue.cancel(self.place);
            self.claims.less(&queue, 1);
        }
        waits
    }

    /// Leaves it to the runtime: `memory` is freed when the message has been received.
    pub(crate) fn abandon(self, memory: KeepAlive) {
        let mut queue = lock(&self.claims.queue);
        match queue.get(self.place, self.number) {
            Some(entry) if !entry.is_over() => entry.abandoned = Some(memory),
            over => {
                if over.is_some() {
                    queue.entries.remove(self.place);
                }
                drop(queue);
                free(memory);
            }
        }
    }
}

impl Claims {
    pub(crate) fn new(comm: MPI_Comm) -> Arc<Self> {
        Arc::new(Self {
            comm,
            queue: Mutex::new(Queue {
                users: 1,
                ..Queue::default()
            }),
            waiting: AtomicUsize::new(0),
        })
    }

    /// Adds a user of the communicator; `false` if it is closed already.
    pub(crate) fn join(&self) -> bool {
        let mut queue = lock(&self.queue);
        if queue.closed {
            return false;
        }
        queue.users += 1;
        if queue.users == 1 {
            // It may be another one, to which the library has given the same handle.
            queue.may_probe_any = None;
            if self.is_waiting() {
                THREAD_GUARD.fast_path.hold();
            }
        }
        true
    }

    /// Removes a user of the communicator; the last one closes the queue, if `lent`: the
    /// communicator may be freed from now on.
    pub(crate) fn leave(&self, lent: bool) -> Left {
        self.locked(|queue| {
            if queue.users == 1 && self.is_waiting() {
                THREAD_GUARD.fast_path.release();
            }
            queue.users = queue.users.saturating_sub(1);
            let by_all = queue.users == 0;
            if lent && by_all {
                self.close_queue(queue);
            }
            let pending = queue.is_under_way();
            Left { by_all, pending }
        })
    }

    /// Returns `true` if a receive that is posted now could overtake one that waits here.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Counts one more that waits; the first one closes the fast path.
    fn one_more(&self, queue: &Queue) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) == 0 && queue.users > 0 {
            THREAD_GUARD.fast_path.hold();
        }
    }

    /// Counts so many less; the last one opens the fast path.
    fn less(&self, queue: &Queue, fewer: usize) {
        let before = self.waiting.fetch_sub(fewer, Ordering::Relaxed);
        if before == fewer && fewer > 0 && queue.users > 0 {
            THREAD_GUARD.fast_path.release();
        }
    }

    /// Makes progress once, unless another thread does.
    pub(crate) fn look_if_free(&self) {
        if let Ok(queue) = self.queue.try_lock() {
            with(queue, |queue| self.look(queue, BY_PROGRESS));
        }
    }

    /// Returns `true` if a receive may still be pending, as far as can be told without blocking.
    /// Makes no progress.
    pub(crate) fn is_busy(&self) -> bool {
        self.queue
            .try_lock()
            .map_or(true, |queue| queue.is_under_way())
    }

    /// Calls `then` with the queue.
    fn locked<R>(&self, then: impl FnOnce(&mut Queue) -> R) -> R {
        with(lock(&self.queue), then)
    }

    /// Makes progress on some of the receives.
    pub(crate) fn look_at_some(&self) {
        self.locked(|queue| self.look(queue, BY_WAIT));
    }

    /// Makes progress on all receives.
    pub(crate) fn look_at_all(&self) {
        self.locked(|queue| self.look(queue, usize::MAX));
    }

    /// Makes progress on the receive that the message which `probe` sees is for, and returns
    /// `true`; `false` if it is for none of these, `None` if there is no message.
    ///
    /// No other thread makes progress on them meanwhile: after the receive has matched the message,
    /// it would seem to be for none.
    pub(crate) fn is_for_one(
        &self,
        probe: impl FnOnce() -> Result<Option<Status>>,
    ) -> Result<Option<bool>> {
        self.locked(|queue| {
            let Some(seen) = probe()? else {
                return Ok(None);
            };
            let (Some(source), Some(tag)) = (seen.source(), seen.tag()) else {
                return Ok(Some(false));
            };
            let first = queue
                .waiting
                .first_that_matches(&queue.entries, source, tag);
            if let Some(place) = first.filter(|_| !queue.closed) {
                self.look_for_one(queue, place);
            }
            Ok(Some(first.is_some()))
        })
    }

    /// Has the hints of the communicator read anew.
    pub(crate) fn hints_have_changed(&self) {
        lock(&self.queue).may_probe_any = None;
    }

    /// Closes the queue, since the communicator is about to be freed: receives that have no message
    /// end without one.
    pub(crate) fn close(&self) {
        self.locked(|queue| self.close_queue(queue));
    }

    fn close_queue(&self, queue: &mut Queue) {
        queue.closed = true;
        let ended = queue.end_waiting();
        self.less(queue, ended);
    }

    /// Returns `true` if any has no message yet, or one that the library still receives.
    pub(crate) fn is_under_way(&self) -> bool {
        lock(&self.queue).is_under_way()
    }

    /// Adds the C names of those that are not complete.
    pub(crate) fn add_names(&self, names: &mut Vec<&'static str>) {
        let queue = lock(&self.queue);
        let left = queue.entries.iter().filter(|(_, entry)| !entry.is_over());
        names.extend(left.map(|(_, entry)| entry.role.operation));
    }
}

/// Calls `then` with the queue, and frees what is spent afterwards.
fn with<R>(mut queue: MutexGuard<'_, Queue>, then: impl FnOnce(&mut Queue) -> R) -> R {
    let result = then(&mut queue);
    let spent = std::mem::take(&mut queue.spent);
    drop(queue);
    spent.into_iter().for_each(free);
    result
}

/// Frees the memory of a receive that is complete, or whose memory the library never had.
fn free(memory: KeepAlive) {
    // SAFETY: it is called for entries that are over, or wait for their message and are taken out
    // of their queue.
    memory.free(unsafe { Over::new() });
}
