//! Receives that are matched first (matched probe) and posted when the length of the message is
//! known.
//!
//! Two kinds of receive cannot be posted: one into memory that is still to be allocated, and any on
//! a library that writes past the end of a buffer (see `recv`). They wait here, in the order in
//! which they were started. Progress on them matches messages that have arrived (`MPI_Improbe`),
//! compares lengths, and has the library receive them (`MPI_Imrecv`).
//!
//! Matching is as if they were posted. A message goes to the first receive that matches it: where
//! two could match the same message, the later one only probes (`MPI_Iprobe`), and if the earlier
//! one matches the message found, it is the earlier one that receives it. As long as any waits
//! here, receives and probes that could overtake it are led here too, by closing the fast path.
//!
//! Progress is made by every wait for one of them and every test; and while this rank is busy
//! elsewhere, by `progress`.
//!
//! Those whose communicator was dropped still wait, as posted ones would, until it is freed.
//! Nothing can overtake them then, so they do not close the fast path.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Status};

use super::communicator::Comm;
use super::error::check;
use super::peer::to_standard;
use super::probe::improbe;
use super::{progress, status};
use crate::call::limit::Pause;
use crate::call::thread_guard::THREAD_GUARD;
use crate::data::in_flight::{KeepAlive, Over};
use crate::data::raw_slice::{Element, OpInfo, RecvTarget};
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::{Result, Status};
use crate::transport::completion::Completion;
use queue::{Entry, Phase, Queue};

mod queue;

/// The receives of one communicator that wait for their message.
pub(crate) struct Claims {
    comm: MPI_Comm,
    queue: Mutex<Queue>,
    /// The number that have no message yet.
    waiting: AtomicUsize,
}

/// A receive in the queue.
#[derive(Debug)]
pub(crate) struct Claim {
    claims: Arc<Claims>,
    number: u64,
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
        let mut queue = claims.lock();
        let number = queue.push(role, element, landing, source, tag);
        claims.one_more(&queue);
        claims.look(&mut queue);
        let all_begun = claims.waiting.load(Ordering::Relaxed) == 0;
        drop(queue);
        if !all_begun && self.session.polls() {
            progress::watch(&claims);
        }
        Claim {
            claims,
            number,
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
        self.claims.looking(|queue| queue.collect(self.number))
    }

    pub(crate) fn wait(&mut self) -> Result<Completion> {
        let mut pause = Pause::default();
        loop {
            if let Some(outcome) = self.test() {
                return outcome;
            }
            pause.rest();
        }
    }

    /// Cancels it, if it has no message yet.
    pub(crate) fn cancel(&mut self) -> bool {
        let mut queue = self.claims.lock();
        let index = queue.index(self.number);
        match index.filter(|&index| queue.entries[index].waits()) {
            Some(index) => {
                queue.entries.remove(index);
                self.claims.one_less(&queue);
                true
            }
            None => false,
        }
    }

    /// Leaves it to the runtime: `memory` is freed when the message has been received.
    pub(crate) fn abandon(self, memory: KeepAlive) {
        let mut queue = self.claims.lock();
        match queue.index(self.number) {
            Some(index) if !queue.entries[index].is_over() => {
                queue.entries[index].abandoned = Some(memory);
            }
            over => {
                if let Some(index) = over {
                    queue.entries.remove(index);
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

    /// The communicator that they are on.
    pub(crate) fn comm(&self) -> MPI_Comm {
        self.comm
    }

    /// Adds a user of the communicator; `false` if it is closed already.
    pub(crate) fn join(&self) -> bool {
        let mut queue = self.lock();
        if queue.closed {
            return false;
        }
        queue.users += 1;
        if queue.users == 1 {
            queue.waiting().for_each(|_| THREAD_GUARD.hold_fast_path());
        }
        true
    }

    /// Removes a user of the communicator; returns `true` if a receive is still pending on it.
    pub(crate) fn leave(&self) -> bool {
        let mut queue = self.lock();
        if queue.users == 1 {
            queue
                .waiting()
                .for_each(|_| THREAD_GUARD.release_fast_path());
        }
        queue.users = queue.users.saturating_sub(1);
        queue.is_under_way()
    }

    /// Returns `true` if a receive that is posted now could overtake one that waits here.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn one_more(&self, queue: &Queue) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if queue.users > 0 {
            THREAD_GUARD.hold_fast_path();
        }
    }

    fn one_less(&self, queue: &Queue) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        if queue.users > 0 {
            THREAD_GUARD.release_fast_path();
        }
    }

    /// Makes progress once, unless another thread does; returns `true` if a receive may still be
    /// pending.
    pub(crate) fn look_if_free(&self) -> bool {
        match self.queue.try_lock() {
            Ok(queue) => self.look_and(queue, |queue| queue.is_under_way()),
            Err(_) => true,
        }
    }

    /// Returns `true` if a receive may still be pending, as far as can be told without blocking.
    /// Makes no progress.
    pub(crate) fn is_busy(&self) -> bool {
        self.queue
            .try_lock()
            .map_or(true, |queue| queue.is_under_way())
    }

    /// Makes progress, and then calls `then` with the queue.
    fn looking<R>(&self, then: impl FnOnce(&mut Queue) -> R) -> R {
        self.look_and(self.lock(), then)
    }

    fn look_and<R>(
        &self,
        mut queue: MutexGuard<'_, Queue>,
        then: impl FnOnce(&mut Queue) -> R,
    ) -> R {
        self.look(&mut queue);
        let result = then(&mut queue);
        let spent = std::mem::take(&mut queue.spent);
        drop(queue);
        spent.into_iter().for_each(free);
        result
    }

    /// Matches messages that have arrived with the receives that wait for them, so that a probe
    /// sees none of these.
    pub(crate) fn look_now(&self) {
        self.looking(|_| ());
    }

    /// Returns `true` if a message of that sender and tag matches a receive that waits.
    pub(crate) fn awaits(&self, status: &Status) -> bool {
        let queue = self.lock();
        queue
            .waiting()
            .any(|entry| entry.matches(status.source(), status.tag()))
    }

    /// Closes the queue, since the communicator is about to be freed: receives that have no message
    /// end without one.
    pub(crate) fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        let entries = std::mem::take(&mut queue.entries);
        let (ended, left): (Vec<_>, _) = entries.into_iter().partition(Entry::waits);
        queue.entries = left;
        ended.iter().for_each(|_| self.one_less(&queue));
        drop(queue);
        let spent = ended.into_iter().filter_map(|entry| entry.abandoned);
        spent.for_each(free);
    }

    /// Returns `true` if any has no message yet, or one that the library still receives.
    pub(crate) fn is_under_way(&self) -> bool {
        self.lock().is_under_way()
    }

    /// Adds the C names of those that are not complete.
    pub(crate) fn add_names(&self, names: &mut Vec<&'static str>) {
        let queue = self.lock();
        let left = queue.entries.iter().filter(|entry| !entry.is_over());
        names.extend(left.map(|entry| entry.role.operation));
    }

    fn look(&self, queue: &mut Queue) {
        let mut index = 0;
        while index < queue.entries.len() {
            match queue.entries[index].phase {
                Phase::Over(_) if queue.entries[index].abandoned.is_some() => {
                    let entry = queue.entries.remove(index);
                    queue.spent.extend(entry.abandoned);
                }
                Phase::Over(_) => index += 1,
                Phase::Receiving { .. } => {
                    queue.entries[index].advance();
                    // Complete and abandoned, it is removed in the next round.
                    let entry = &queue.entries[index];
                    if !entry.is_over() || entry.abandoned.is_none() {
                        index += 1;
                    }
                }
                Phase::Waiting if queue.closed => index += 1,
                Phase::Waiting => {
                    // The same one is looked at again, and after it those behind it.
                    if !self.look_for(queue, index) {
                        index += 1;
                    }
                }
            }
        }
    }

    /// Tries to match a message for one that waits; returns `true` if something has changed.
    fn look_for(&self, queue: &mut Queue, index: usize) -> bool {
        let (earlier, rest) = queue.entries.split_at(index);
        let Some(entry) = rest.first() else {
            return false;
        };
        let mut earlier = earlier.iter().filter(|other| other.waits());
        if earlier.clone().any(|other| other.covers(entry)) {
            return false;
        }
        if !earlier.clone().any(|other| other.overlaps(entry)) {
            let (source, tag) = (entry.source, entry.tag);
            return self.claim_for(queue, index, source, tag);
        }
        match self.arrived(entry) {
            Ok(None) => false,
            Ok(Some(status)) => {
                let (source, tag) = (status.source(), status.tag());
                let sooner = earlier.find(|other| other.matches(source, tag));
                let sooner = sooner.and_then(|other| queue.index(other.number));
                match (sooner, source, tag) {
                    // The same for the one that it matches: an earlier one may match a message that
                    // has arrived meanwhile.
                    (Some(sooner), ..) => self.look_for(queue, sooner),
                    // This very message: one from another rank that has arrived meanwhile may match
                    // an earlier receive.
                    (None, Some(source), Some(tag)) => {
                        self.claim_for(queue, index, Source::Rank(source), Tag::Value(tag))
                    }
                    (None, ..) => false,
                }
            }
            Err(error) => {
                self.is_over(queue, index, Err(error));
                true
            }
        }
    }

    /// Matches such a message, if one has arrived, for the receive at `index`; returns `true` if
    /// something has changed.
    fn claim_for(&self, queue: &mut Queue, index: usize, source: Source, tag: Tag) -> bool {
        // SAFETY: the communicator lives, as it is not closed; rank and tag are checked.
        let found = unsafe { improbe(self.comm, source, tag) };
        let found = match found {
            Ok(None) => queue.may_have_sender(self.comm, index).map(|()| None),
            found => found,
        };
        match found {
            Ok(None) => false,
            Ok(Some((message, status))) => {
                self.one_less(queue);
                queue.entries[index].begin(message, status);
                true
            }
            Err(error) => {
                self.is_over(queue, index, Err(error));
                true
            }
        }
    }

    fn is_over(&self, queue: &mut Queue, index: usize, outcome: Result<Completion>) {
        queue.entries[index].phase = Phase::Over(outcome);
        self.one_less(queue);
    }

    fn arrived(&self, entry: &Entry) -> Result<Option<Status>> {
        let (from, under) = (
            to_standard::source(entry.source),
            to_standard::tag(entry.tag),
        );
        let mut flag: c_int = 0;
        let mut status = MPI_Status::EMPTY;
        // SAFETY: the communicator lives, as it is not closed; rank and tag are checked; flag and
        // status are ours.
        let code =
            unsafe { sys::MPI_Iprobe(from, under, self.comm, &raw mut flag, &raw mut status) };
        check(code, "MPI_Iprobe")?;
        Ok((flag != 0).then(|| status::decode(&status)))
    }
}

/// Frees the memory of a receive that is complete, or whose memory the library never had.
fn free(memory: KeepAlive) {
    // SAFETY: it is called for entries that are over, or wait for their message and are taken out
    // of their queue.
    memory.free(unsafe { Over::new() });
}
