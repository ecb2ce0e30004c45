//! All PEs of one heap: who has gone, and how they wait for each other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ranks_comm::{Error, ErrorKind, Result};

use super::meeting::{Key, Meeting};
use crate::call::time_limit::Limit;

/// The interval at which a wait looks again at what nobody tells it of: words that are stored to
/// directly.
const GLANCE: Duration = Duration::from_millis(2);

/// The state that the PEs of one heap share.
#[derive(Debug)]
pub(super) struct World {
    pes: Box<[Presence]>,
    state: Mutex<State>,
    changed: Condvar,
}

/// The state under the lock that threads meet for. No code of anybody else's runs under its lock,
/// and every change is whole.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) meetings: HashMap<Key, Meeting>,
    /// Numbers that no two things of this heap share.
    pub(super) drawn: u64,
    /// The PEs that have gone, and how they did.
    gone: HashMap<usize, &'static str>,
}

#[derive(Debug, Default)]
struct Presence {
    /// Its thread will not call anything any more.
    ended: AtomicBool,
    /// The number of operations that its streams have still to do.
    enqueued: AtomicUsize,
}

/// Waits for `operation` no longer than a limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) operation: &'static str,
    pub(super) limit: Limit,
}

impl World {
    pub(super) fn new(size: usize) -> Arc<World> {
        Arc::new(World {
            pes: (0..size).map(|_| Presence::default()).collect(),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    pub(super) fn size(&self) -> usize {
        self.pes.len()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no other thing of this heap has.
    pub(super) fn draw(&self) -> u64 {
        self.lock().draw()
    }

    /// Waits until `look` has found something; it is asked again whenever something has changed,
    /// and now and then.
    ///
    /// # Errors
    /// The error that `look` returns; `TimedOut` with what `missing` says, after the limit;
    /// `Finalized` when no PE is left.
    pub(super) fn wait<R>(
        &self,
        waiting: Waiting,
        mut look: impl FnMut(&mut State) -> Option<Result<R>>,
        missing: impl FnOnce(&mut State) -> String,
    ) -> Result<R> {
        let Waiting { operation, limit } = waiting;
        // A limit that no clock can tell is none.
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut state = self.lock();
        loop {
            if let Some(found) = look(&mut state) {
                return found;
            }
            if state.gone.len() == self.size() {
                let why = "all PEs have let go of the heap";
                return Err(Error::new(ErrorKind::Finalized, operation, why));
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                let (missing, limit) = (missing(&mut state), limit.unwrap_or_default());
                let why = format_args!("timed out after {limit:?}: {missing}");
                return Err(Error::new(ErrorKind::TimedOut, operation, why));
            }
            let nap = left.map_or(GLANCE, |left| left.min(GLANCE));
            let waited = self.changed.wait_timeout(state, nap);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lets those who wait look again at what was done before this call.
    pub(super) fn wake(&self) {
        // Nobody is between a look and its sleep while the lock is held.
        drop(self.lock());
        self.changed.notify_all();
    }

    /// As [`wake`](Self::wake), of one who has the lock.
    pub(super) fn wake_after(&self, state: MutexGuard<'_, State>) {
        drop(state);
        self.changed.notify_all();
    }

    /// A PE will not call anything any more; how it went is what was said first.
    pub(super) fn leave(&self, pe: usize, how: &'static str) {
        let mut state = self.lock();
        state.gone.entry(pe).or_insert(how);
        if let Some(presence) = self.pes.get(pe) {
            presence.ended.store(true, Ordering::SeqCst);
        }
        self.wake_after(state);
    }

    /// The way in which a PE has gone that will do nothing any more: neither its thread nor its
    /// streams.
    pub(super) fn lost(&self, state: &State, pe: usize) -> Option<&'static str> {
        let idle = |presence: &Presence| presence.enqueued.load(Ordering::SeqCst) == 0;
        let how = *state.gone.get(&pe)?;
        let all_done = self.pes.get(pe).is_none_or(idle);
        (all_done || how == super::presence::PANICKED).then_some(how)
    }

    /// The first of all PEs but `me` that will do nothing any more.
    pub(super) fn any_lost(&self, state: &State, me: usize) -> Option<(usize, &'static str)> {
        let others = (0..self.size()).filter(|&pe| pe != me);
        others
            .filter_map(|pe| Some((pe, self.lost(state, pe)?)))
            .next()
    }

    /// A stream of the PE has one more thing to do.
    pub(super) fn enqueued(&self, pe: usize) {
        if let Some(presence) = self.pes.get(pe) {
            presence.enqueued.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A stream of the PE has done one of them.
    pub(super) fn carried_out(&self, pe: usize) {
        let Some(presence) = self.pes.get(pe) else {
            return;
        };
        presence.enqueued.fetch_sub(1, Ordering::SeqCst);
        // Those who wait for a PE that is still there learn of its deeds by themselves.
        if presence.ended.load(Ordering::SeqCst) {
            self.wake();
        }
    }
}

impl State {
    pub(super) fn draw(&mut self) -> u64 {
        self.drawn += 1;
        self.drawn
    }
}

/// A peer has gone for which the operation waits.
#[cold]
pub(super) fn peer_failed(operation: &'static str, pe: usize, how: &str) -> Error {
    Error::new(ErrorKind::PeerFailed, operation, gone(pe, how))
}

/// That, in words.
pub(super) fn gone(pe: usize, how: &str) -> String {
    format!("PE {pe} {how}; the others of the heap can only end")
}
