//! Rounds of all ranks of a communicator at its [board](super::board), with what they lend.

use std::ops::Range;

use super::board::{Board, Came};
use super::comm::Comm;
use super::loan::in_pieces;
use crate::call::limit;
use crate::result::{Error, ErrorKind, Result};

pub use super::board::{INLINE, KIND};

/// A round to which all ranks have come.
#[derive(Debug, Clone, Copy)]
pub struct Round<'a> {
    board: &'a Board,
    number: u64,
}

impl Round<'_> {
    /// The first rank that came with other words than rank 0.
    #[must_use]
    pub fn differing(&self) -> Option<usize> {
        self.board.differing(self.number)
    }

    /// The words of a rank.
    #[must_use]
    pub fn words(&self, rank: usize) -> (u64, u64) {
        self.board.words(rank, self.number)
    }

    /// The bytes that a rank came with, and zeros behind them.
    #[must_use]
    pub fn carried(&self, rank: usize) -> [u8; INLINE] {
        self.board.carried(rank, self.number)
    }
}

impl Comm {
    /// Comes to the next round with two words, which are compared, and at most [`INLINE`] bytes,
    /// and waits until all ranks have come. Collective; not between two groups.
    ///
    /// Words and bytes of a round hold until the rank comes to the next one.
    ///
    /// # Errors
    /// [`PeerFailed`](ErrorKind::PeerFailed), [`Revoked`](ErrorKind::Revoked) and
    /// [`TimedOut`](ErrorKind::TimedOut): then no rank comes to the end of the round, nor of any
    /// later one.
    #[inline]
    pub fn round(
        &self,
        operation: &'static str,
        words: (u64, u64),
        carried: &[u8],
    ) -> Result<Round<'_>> {
        let world = &self.place.world;
        world.not_revoked(operation, self.context)?;
        let board = &self.common.board;
        let number = match board.come(self.rank, words, carried) {
            Came::Last(number) => {
                self.wake_others();
                number
            }
            Came::Waiting(number) => {
                let over = || (board.is_over(number)).then_some(());
                if world.patience.look(over).is_none() {
                    self.sleep_until_over(operation, board, number)?;
                }
                number
            }
            Came::Broken => return Err(self.broken(operation)),
        };
        Ok(Round { board, number })
    }

    #[inline]
    pub(super) fn wake_others(&self) {
        let others = self.members.iter().copied();
        let me = self.place.rank;
        self.place
            .world
            .wake_each(others.filter(|&rank| rank != me));
    }

    #[cold]
    #[inline(never)]
    fn sleep_until_over(&self, operation: &'static str, board: &Board, number: u64) -> Result<()> {
        let Err(error) = self.wait_until_over(operation, board, number) else {
            return Ok(());
        };
        let late = error.kind() == ErrorKind::TimedOut;
        if board.break_off(self.rank, number, late) {
            self.wake_others();
            return Err(error);
        }
        // All have come, and the last one is about to say so.
        let over = || board.is_over(number).then_some(());
        while self.place.world.patience.look(over).is_none() {}
        Ok(())
    }

    fn wait_until_over(&self, operation: &'static str, board: &Board, number: u64) -> Result<()> {
        let (world, me) = (&self.place.world, self.place.rank);
        let mut look = || {
            if board.is_over(number) {
                return Ok(());
            }
            let mut first = None;
            for rank in board.missing(self.rank) {
                let awaited = (rank, self.members[rank]);
                if world.has_ended(awaited.1) {
                    return Err(awaited);
                }
                first = first.or(Some(awaited));
            }
            // Between its coming and what it says then, nobody is missing.
            Err(first.unwrap_or((self.rank, me)))
        };
        self.mailbox().until(None, || {
            let over = world.look_for(operation, me, &mut look)?;
            if over.is_none() {
                self.goes_on(operation, limit::is_limited)?;
            }
            Ok(over)
        })
    }

    /// Returns an error if the communicator was revoked, or a rank has broken off what all of them
    /// do together.
    pub(super) fn goes_on(
        &self,
        operation: &'static str,
        has_limit: impl FnOnce() -> bool,
    ) -> Result<()> {
        self.ranks().not_revoked(operation, self.context)?;
        let board = &self.common.board;
        // At a time limit each rank that has one says what it waited for.
        if board.is_broken_in_time() || (board.is_broken() && !has_limit()) {
            return Err(self.broken(operation));
        }
        Ok(())
    }

    /// Breaks off what all ranks do together, in which this rank has come to a time limit: no later
    /// round or exchange ends.
    pub(super) fn break_off(&self) {
        self.common.board.break_off_between(self.rank, true);
        self.wake_others();
    }

    #[cold]
    pub(super) fn broken(&self, operation: &'static str) -> Error {
        let who = self.common.board.broken_by();
        let who = who.map(|rank| format!("rank {rank}"));
        let detail = format_args!(
            "{} of {} left this operation, or one before it on this communicator, with an error; no later one can end there",
            who.as_deref().unwrap_or("a rank"),
            self.size()
        );
        Error::new(ErrorKind::PeerFailed, operation, detail)
    }

    /// Lends `bytes` to the other ranks until `meanwhile` has returned and none of them reads any
    /// more.
    pub fn lending<R>(&self, bytes: &[u8], meanwhile: impl FnOnce() -> R) -> R {
        let place = self.common.board.place(self.rank);
        place.loan.lend(bytes, meanwhile)
    }

    /// Reads some of what `rank` lends. What `read` does must end by itself.
    ///
    /// # Errors
    /// [`PeerFailed`](ErrorKind::PeerFailed) if it lends no such bytes.
    pub fn read_lent<R>(
        &self,
        operation: &'static str,
        rank: usize,
        range: Range<usize>,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R> {
        let place = self.common.board.place(rank);
        let read = place.loan.read(range, read);
        read.map_err(|_| self.has_left(operation, rank))
    }

    /// Has others work on `parts`, which they find by their index, until `meanwhile` has returned
    /// and none of them does any more.
    pub fn lending_places<'a, R>(
        &self,
        parts: impl Iterator<Item = &'a mut [u8]>,
        meanwhile: impl FnOnce() -> R,
    ) -> R {
        let place = self.common.board.place(self.rank);
        place.places.lend(parts, meanwhile)
    }

    /// Works on a part of what `rank` has lent to be written to. What `work` does must end by
    /// itself.
    ///
    /// # Errors
    /// As [`read_lent`](Self::read_lent).
    pub fn work_on_place<R>(
        &self,
        operation: &'static str,
        rank: usize,
        part: usize,
        range: Range<usize>,
        work: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R> {
        let place = self.common.board.place(rank);
        let worked = place.places.work(part, range, work);
        worked.map_err(|_| self.has_left(operation, rank))
    }

    /// Copies what `rank` lends, from the byte `start` on, to `place`.
    ///
    /// # Errors
    /// As [`read_lent`](Self::read_lent).
    pub fn copy_lent(
        &self,
        operation: &'static str,
        rank: usize,
        start: usize,
        place: &mut [u8],
    ) -> Result<()> {
        in_pieces(start, place, |range, place| {
            self.read_lent(operation, rank, range, |bytes| place.copy_from_slice(bytes))
        })
    }
}
