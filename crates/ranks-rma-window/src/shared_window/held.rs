//! The locks that this rank holds: none twice, and none when it leaves the phase.

use std::sync::atomic::Ordering;

use bytemuck::Pod;
use ranks_comm::backend;
use ranks_comm::record::Call;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

use super::locks::Lock;
use super::peers;
use super::segments::Segments;
use crate::epoch::epochs::Hold;

/// A lock of one segment or of all, which is left when this is dropped.
pub(super) struct Held<'a, T: Pod> {
    segments: &'a Segments<T>,
    hold: Hold,
}

impl<'a, T: Pod> Held<'a, T> {
    #[inline]
    pub(super) fn segments(&self) -> &'a Segments<T> {
        self.segments
    }
}

impl<T: Pod> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.segments.leave(self.hold);
        self.segments.epochs().release(self.hold);
    }
}

impl<T: Pod> Segments<T> {
    /// Shares the lock of a segment, when nobody holds it exclusively.
    pub(super) fn lock_shared(&self, operation: &'static str, rank: usize) -> Result<Held<'_, T>> {
        let lock = self.lock_of(operation, rank)?;
        self.hold(operation, Hold::Rank(rank), || {
            let lets_pass = !self.epochs().holds_several();
            self.wait_for(operation, || lock.try_shared(lets_pass))
        })
    }

    /// Holds the lock of a segment exclusively, when nobody holds it.
    pub(super) fn lock_exclusive(
        &self,
        operation: &'static str,
        rank: usize,
    ) -> Result<Held<'_, T>> {
        let lock = self.lock_of(operation, rank)?;
        self.hold(operation, Hold::Rank(rank), || {
            if lock.try_exclusive() {
                return Ok(());
            }
            let _waiting = lock.wait();
            self.wait_for(operation, || lock.try_exclusive())
        })
    }

    /// Shares the locks of all segments.
    pub(super) fn lock_all(&self, operation: &'static str) -> Result<Held<'_, T>> {
        self.hold(operation, Hold::All, || {
            for (rank, mark) in self.marks().iter().enumerate() {
                // With the first one it holds a lock already.
                let lets_pass = rank == 0;
                if let Err(error) = self.wait_for(operation, || mark.lock.try_shared(lets_pass)) {
                    self.marks()[..rank]
                        .iter()
                        .for_each(|mark| mark.lock.leave());
                    return Err(error);
                }
            }
            Ok(())
        })
    }

    /// Takes a lock by `take`, unless this rank holds it.
    fn hold(
        &self,
        operation: &'static str,
        hold: Hold,
        take: impl FnOnce() -> Result<()>,
    ) -> Result<Held<'_, T>> {
        let call = Call::from(operation);
        let call = match hold {
            Hold::All => call,
            Hold::Rank(rank) => call.peer(rank),
        };
        let _entered = self.node().enter(call)?;
        self.epochs().hold(operation, hold)?;
        if let Err(error) = take() {
            self.epochs().release(hold);
            return Err(error);
        }
        if let Some(mark) = self.marks().get(self.rank()) {
            mark.holds.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Held {
            segments: self,
            hold,
        })
    }

    fn lock_of(&self, operation: &'static str, rank: usize) -> Result<&Lock> {
        let mark = self.marks().get(rank);
        mark.map(|mark| &mark.lock).ok_or_else(|| {
            let size = self.size();
            let why = format_args!(
                "rank {rank} has no segment: the window is of {}, from 0 to {}",
                Count(size, "rank"),
                size - 1
            );
            Error::new(ErrorKind::Rank, operation, why)
        })
    }

    /// Waits until an attempt succeeds, as a part of a call that this thread has entered. A rank
    /// that ends while it holds a lock never leaves it.
    fn wait_for(&self, operation: &'static str, mut attempt: impl FnMut() -> bool) -> Result<()> {
        /// Number of attempts before the library gets to make progress.
        const SOON: u32 = 64;
        let mut attempts = 0;
        let holds = |rank: usize| {
            let mark = self.marks().get(rank);
            mark.is_some_and(|mark| mark.holds.load(Ordering::Relaxed) > 0)
        };
        backend::look(|| {
            if attempt() {
                return Ok(Some(()));
            }
            attempts += 1;
            if attempts > SOON {
                peers::look(self.node(), operation, |rank| {
                    rank != self.rank() && holds(rank)
                })?;
            }
            Ok(None)
        })
    }
}

impl<T> Segments<T> {
    fn leave(&self, hold: Hold) {
        let left = match hold {
            Hold::All => self.marks(),
            Hold::Rank(rank) => self.marks().get(rank..=rank).unwrap_or_default(),
        };
        left.iter().for_each(|mark| mark.lock.leave());
        if let Some(mark) = self.marks().get(self.rank()) {
            mark.holds.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Leaves the locks whose guards were forgotten.
    pub(super) fn leave_forgotten(&self) {
        for hold in self.epochs().take_held() {
            self.leave(hold);
        }
    }
}
