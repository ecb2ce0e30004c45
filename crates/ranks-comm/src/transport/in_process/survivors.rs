//! Agreement of the surviving ranks, whichever have failed: it needs no message of any one of them.

use super::comm::Comm;
use crate::call::limit;
use crate::result::{Error, ErrorKind, Result};

/// The contribution of a rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    pub(crate) flags: u32,
    /// The number of failures that it had acknowledged.
    pub(crate) acknowledged: usize,
}

/// The outcome of a meeting; the same for all who came.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    /// The surviving ranks, by rank of the world, in the order of the members.
    pub(crate) left: Vec<usize>,
    pub(crate) flags: u32,
    /// The least number of failures that any of them had acknowledged.
    pub(crate) acknowledged: usize,
    /// The number of failures so far.
    pub(crate) failures: usize,
    /// A new context.
    pub(crate) context: u64,
}

impl Comm {
    /// Meets all surviving members, and returns the outcome. Collective over these.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`]; [`ErrorKind::PeerFailed`] if another rank has timed out.
    pub(crate) fn meet_survivors(&self, operation: &'static str, word: Word) -> Result<Outcome> {
        let (world, meetings) = (self.ranks(), &self.common.agreements);
        let (number, _) = meetings.come(self.rank, word);
        world.wake_all();
        let met = self.mailbox().until(None, || {
            let failed = world.failed_ranks(usize::MAX);
            match meetings.look(number, |words| self.outcome(words, &failed)) {
                // At a time limit each rank that has one says what it waited for.
                Some(Err(rank)) if !limit::is_limited() => Err(self.gave_up(operation, rank)),
                met => Ok(met.and_then(Result::ok)),
            }
        });
        let met = met.or_else(|error| {
            let outcome = meetings.give_up(number, self.rank);
            self.wake_others();
            outcome.map_err(|_| error)
        });
        self.leave(meetings, number);
        met
    }

    /// The outcome, once every member has come or is gone.
    fn outcome(&self, words: &[Option<Word>], failed: &[usize]) -> Option<Outcome> {
        let world = self.ranks();
        let gone = |rank: usize| world.has_ended(rank);
        let mut members = self.members.iter().zip(words);
        if !members.all(|(&rank, word)| word.is_some() || gone(rank)) {
            return None;
        }
        let is_left = |(rank, word): &(&usize, &Option<Word>)| {
            word.is_some() && !failed.contains(rank) && !gone(**rank)
        };
        let left = self.members.iter().zip(words).filter(is_left);
        let words = words.iter().flatten();
        Some(Outcome {
            left: left.map(|(rank, _)| *rank).collect(),
            flags: words.clone().fold(u32::MAX, |all, word| all & word.flags),
            acknowledged: words.map(|word| word.acknowledged).min().unwrap_or(0),
            failures: failed.len(),
            context: world.new_context(),
        })
    }

    #[cold]
    fn gave_up(&self, operation: &'static str, rank: usize) -> Error {
        let size = self.size();
        let detail = format_args!("rank {rank} of {size} gave this operation up at a time limit");
        Error::new(ErrorKind::PeerFailed, operation, detail)
    }
}
