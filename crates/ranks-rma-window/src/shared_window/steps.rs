//! Changes of phase in a shared window: each rank leaves a mark in the memory, and waits for those
//! of the others.
//!
//! The marks say how far a rank is and what for, so that ranks that do not do the same find out,
//! and one that has dropped its window is not waited for. A rank that waits lets the library go on
//! with its messages, since the rank that it waits for may need them.

use std::sync::atomic::{AtomicU64, Ordering};

use ranks_comm::backend;
use ranks_comm::{Communicator, Error, ErrorKind, Result};

use super::locks::Lock;
use super::peers;

/// The marks of all ranks.
pub(super) type Marks = [Mark];

/// Progress of a rank, and the lock of its segment; in a line of the cache of its own. Zeros are
/// the mark of one that has done nothing yet.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Mark {
    /// Steps that it has arrived at last, and before: a step of an even number in the first word,
    /// of an odd one in the second. It does not arrive at the next but one before all have gone on
    /// from this one, so that a word stays until all have seen it.
    arrived: [AtomicU64; 2],
    /// Step that it had arrived at when it dropped its window.
    gone: AtomicU64,
    /// Lock of its segment, in the phase of locks.
    pub(super) lock: Lock,
    /// Number of locks, of whatever segments, that it holds.
    pub(super) holds: AtomicU64,
}

/// Goal of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Write = 1,
    Read,
    Concurrent,
    Passive,
    Freed,
    Reduce,
}

impl Goal {
    fn of(code: u64) -> &'static str {
        match code {
            1 => "the phase Write",
            2 => "the phase Read",
            3 => "the phase Concurrent",
            4 => "the phase Passive",
            5 => "free",
            6 => "a reduction",
            _ => "nothing known",
        }
    }
}

/// The number of a step and its goal, in one word; above 0.
fn word(number: u64, goal: u64) -> u64 {
    number << 8 | goal
}

/// Position of a rank in the sequence of steps.
#[derive(Debug)]
pub(super) struct Step {
    rank: usize,
    /// The call that has taken it there.
    operation: &'static str,
    /// Step that it has arrived at last.
    at: u64,
}

impl Mark {
    /// Number of bytes of the marks of so many ranks.
    pub(super) fn bytes(ranks: usize) -> Option<usize> {
        ranks.checked_mul(size_of::<Self>())
    }

    fn arrived(&self, number: u64) -> &AtomicU64 {
        let [even, odd] = &self.arrived;
        if number.is_multiple_of(2) { even } else { odd }
    }

    /// The last word of its rank.
    fn last(&self) -> u64 {
        let [even, odd] = &self.arrived;
        even.load(Ordering::Acquire)
            .max(odd.load(Ordering::Acquire))
    }

    /// Says that its rank has dropped its window.
    pub(super) fn leave(&self) {
        self.gone.store(self.last().max(1), Ordering::Release);
    }
}

impl Step {
    /// Before the first one.
    pub(super) fn first(rank: usize) -> Self {
        Self {
            rank,
            operation: "",
            at: 0,
        }
    }

    /// Says that this rank is done with its phase and goes on to `goal`, by that call.
    pub(super) fn arrive(&mut self, operation: &'static str, marks: &Marks, goal: Goal) {
        self.operation = operation;
        self.at = word((self.at >> 8) + 1, goal as u64);
        if let Some(mark) = marks.get(self.rank) {
            mark.arrived(self.at >> 8).store(self.at, Ordering::Release);
        }
    }

    /// Waits until all ranks have arrived at the same, as a part of a call that this thread has
    /// entered.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if one arrives at something else, [`ErrorKind::PeerFailed`] if one
    /// has dropped its window before, or in process has ended or given a step up,
    /// [`ErrorKind::TimedOut`] at the time limit of the call; what the library reports.
    pub(super) fn wait(&self, marks: &Marks, node: &Communicator) -> Result<()> {
        peers::nobody_gave_up(node, self.operation)?;
        let waited = self.wait_with(marks, || {
            peers::nobody_gave_up(node, self.operation)?;
            peers::look(node, self.operation, |rank| {
                let has = marks.get(rank).map(|mark| self.has(rank, mark));
                matches!(has, Some(Ok(false)))
            })
        });
        if let Err(error) = &waited
            && error.kind() == ErrorKind::TimedOut
        {
            peers::give_up(node);
        }
        waited
    }

    /// As [`wait`](Self::wait), with a function to call between looks.
    fn wait_with(&self, marks: &Marks, mut progress: impl FnMut() -> Result<()>) -> Result<()> {
        /// Number of looks before the library gets to make progress: a rank that comes soon is
        /// there before it has anything to do.
        const SOON: u32 = 64;
        // Those before this one have arrived.
        let (mut next, mut looks) = (0, 0);
        backend::look(|| {
            while let Some(mark) = marks.get(next) {
                if !self.has(next, mark)? {
                    break;
                }
                next += 1;
            }
            if next >= marks.len() {
                return Ok(Some(()));
            }
            looks += 1;
            if looks > SOON {
                // The one that is waited for may itself wait for one that is gone.
                for (rank, mark) in marks.iter().enumerate() {
                    self.is_there(rank, mark)?;
                }
                progress()?;
            }
            Ok(None)
        })
    }

    /// Returns true if a rank has arrived at the step of this one.
    fn has(&self, rank: usize, mark: &Mark) -> Result<bool> {
        let number = self.at >> 8;
        let theirs = mark.arrived(number).load(Ordering::Acquire);
        if theirs == self.at {
            return Ok(true);
        }
        if theirs >> 8 < number {
            return Ok(false);
        }
        Err(self.out_of_step(rank, theirs))
    }

    /// An error if a rank has dropped its window and will never arrive.
    fn is_there(&self, rank: usize, mark: &Mark) -> Result<()> {
        let left = mark.gone.load(Ordering::Acquire);
        // It may have arrived, and left then: what it had arrived at is looked at after.
        if left == 0 || self.has(rank, mark)? {
            return Ok(());
        }
        Err(self.has_left(rank, left))
    }

    #[cold]
    fn out_of_step(&self, rank: usize, theirs: u64) -> Error {
        let (mine, me) = (self.at, self.rank);
        Error::new(
            ErrorKind::Mismatch,
            self.operation,
            format_args!(
                "ranks are out of step: rank {me} goes on to {} (step {}), rank {rank} to {} (step {}); all ranks of \
                 the window must go through the same phases",
                Goal::of(mine & 0xff),
                mine >> 8,
                Goal::of(theirs & 0xff),
                theirs >> 8
            ),
        )
    }

    #[cold]
    fn has_left(&self, rank: usize, left: u64) -> Error {
        let (mine, me) = (self.at, self.rank);
        let phase = if left >> 8 == 0 {
            "no phase"
        } else {
            Goal::of(left & 0xff)
        };
        // Nobody drops a window within a reduction but the call itself, which has failed then.
        let (what, remedy) = if left & 0xff == Goal::Reduce as u64 {
            ("failed", "the error of its call says why")
        } else {
            (
                "dropped its window",
                "keep the window until all ranks are done with it",
            )
        };
        Error::new(
            ErrorKind::PeerFailed,
            self.operation,
            format_args!(
                "rank {rank} has {what} in {phase} (step {}), while rank {me} goes on to {} (step {}); {remedy}",
                left >> 8,
                Goal::of(mine & 0xff),
                mine >> 8
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FENCE: &str = "SharedWindow::fence";

    fn marks(ranks: usize) -> Vec<Mark> {
        (0..ranks).map(|_| Mark::default()).collect()
    }

    /// Result of a wait on marks that do not change any more; it looks for others a few times.
    fn look(step: &Step, marks: &Marks) -> Result<()> {
        let mut looks = 0;
        step.wait_with(marks, || {
            looks += 1;
            if looks < 20 {
                return Ok(());
            }
            Err(Error::new(ErrorKind::TimedOut, FENCE, "still waiting"))
        })
    }

    fn kind(result: Result<()>) -> Option<ErrorKind> {
        result.err().map(|error| error.kind())
    }

    #[test]
    fn who_is_late_is_waited_for() {
        let marks = marks(2);
        let [mut one, mut other] = [0, 1].map(Step::first);
        one.arrive(FENCE, &marks, Goal::Read);
        assert_eq!(kind(look(&one, &marks)), Some(ErrorKind::TimedOut));
        other.arrive(FENCE, &marks, Goal::Read);
        look(&one, &marks).unwrap();
        // It may be one step ahead by now.
        one.arrive(FENCE, &marks, Goal::Write);
        look(&other, &marks).unwrap();
        assert_eq!(kind(look(&one, &marks)), Some(ErrorKind::TimedOut));
        other.arrive(FENCE, &marks, Goal::Write);
        look(&one, &marks).unwrap();
    }

    #[test]
    fn who_does_something_else_is_named_with_both_phases() {
        let marks = marks(3);
        let [mut one, mut other, mut third] = [0, 1, 2].map(Step::first);
        one.arrive(FENCE, &marks, Goal::Read);
        other.arrive(FENCE, &marks, Goal::Concurrent);
        let error = look(&one, &marks).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let text = error.to_string();
        assert!(text.contains("rank 0 goes on to the phase Read"), "{text}");
        assert!(text.contains("rank 1 to the phase Concurrent"), "{text}");
        assert_eq!(kind(look(&other, &marks)), Some(ErrorKind::Mismatch));
        third.arrive(FENCE, &marks, Goal::Read);
        assert_eq!(kind(look(&third, &marks)), Some(ErrorKind::Mismatch));
    }

    /// It can only be so if a rank has gone on without the others.
    #[test]
    fn a_rank_that_is_two_steps_ahead_is_out_of_step() {
        let marks = marks(2);
        let [mut one, mut other] = [0, 1].map(Step::first);
        for goal in [Goal::Read, Goal::Write, Goal::Read] {
            other.arrive(FENCE, &marks, goal);
        }
        one.arrive(FENCE, &marks, Goal::Read);
        let text = look(&one, &marks).unwrap_err().to_string();
        assert!(
            text.contains("(step 1), rank 1 to the phase Read (step 3)"),
            "{text}"
        );
    }

    #[test]
    fn who_has_dropped_its_window_is_not_waited_for() {
        let marks = marks(3);
        let [mut one, mut other, mut third] = [0, 1, 2].map(Step::first);
        for step in [&mut one, &mut other, &mut third] {
            step.arrive(FENCE, &marks, Goal::Write);
        }
        marks[2].leave();
        look(&one, &marks).unwrap();
        one.arrive(FENCE, &marks, Goal::Read);
        // Not rank 1, which is only late.
        let error = look(&one, &marks).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PeerFailed);
        let text = error.to_string();
        assert!(
            text.contains("rank 2 has dropped its window in the phase Write (step 1)"),
            "{text}"
        );
        assert!(
            text.contains("rank 0 goes on to the phase Read (step 2)"),
            "{text}"
        );
    }

    #[test]
    fn who_drops_its_window_after_a_step_has_done_it() {
        let marks = marks(2);
        let [mut one, mut other] = [0, 1].map(Step::first);
        one.arrive(FENCE, &marks, Goal::Read);
        other.arrive(FENCE, &marks, Goal::Read);
        marks[1].leave();
        look(&one, &marks).unwrap();
    }

    #[test]
    fn one_that_never_took_a_step_is_named_as_well() {
        let marks = marks(2);
        let mut one = Step::first(0);
        marks[1].leave();
        one.arrive(FENCE, &marks, Goal::Write);
        assert_eq!(kind(look(&one, &marks)), Some(ErrorKind::PeerFailed));
    }
}
