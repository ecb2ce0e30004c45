//! Meetings of the surviving ranks, whichever have failed: their agreement needs no message of any
//! one of them.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::call::lock::lock;

/// The meetings of a world that not all have left.
#[derive(Debug, Default)]
pub(crate) struct Meetings(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    /// The number of meetings that a rank of the world has come to, by context.
    attended: HashMap<(u64, usize), u64>,
    /// By context, and by number there.
    open: HashMap<(u64, u64), Meeting>,
}

#[derive(Debug, Default)]
struct Meeting {
    came: HashMap<usize, Word>,
    outcome: Option<Outcome>,
    /// The number of ranks that have not learned the outcome.
    to_be_told: usize,
}

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

impl Meetings {
    /// Comes to the next meeting of this context, and returns its number.
    pub(crate) fn come(&self, context: u64, me: usize, word: Word) -> u64 {
        let mut book = lock(&self.0);
        let attended = book.attended.entry((context, me)).or_default();
        let number = *attended;
        *attended += 1;
        let meeting = book.open.entry((context, number)).or_default();
        meeting.came.insert(me, word);
        number
    }

    /// The outcome, once every member has come or is `gone`. `failures` are the
    /// world ranks that have failed, and `new_context` makes a context.
    pub(crate) fn outcome(
        &self,
        (context, number): (u64, u64),
        members: &[usize],
        gone: impl Fn(usize) -> bool,
        failures: &[usize],
        new_context: impl FnOnce() -> u64,
    ) -> Option<Outcome> {
        let mut book = lock(&self.0);
        let meeting = book.open.get_mut(&(context, number))?;
        if meeting.outcome.is_none() {
            let is_there = |rank: &usize| meeting.came.contains_key(rank);
            if !members.iter().all(|rank| is_there(rank) || gone(*rank)) {
                return None;
            }
            let is_left =
                |rank: &&usize| is_there(rank) && !failures.contains(rank) && !gone(**rank);
            let left: Vec<usize> = members.iter().filter(is_left).copied().collect();
            let words = meeting.came.values();
            meeting.outcome = Some(Outcome {
                left,
                flags: words.clone().fold(u32::MAX, |all, word| all & word.flags),
                acknowledged: words.map(|word| word.acknowledged).min().unwrap_or(0),
                failures: failures.len(),
                context: new_context(),
            });
            meeting.to_be_told = meeting.came.len();
        }
        meeting.to_be_told = meeting.to_be_told.saturating_sub(1);
        let (outcome, is_over) = (meeting.outcome.clone(), meeting.to_be_told == 0);
        if is_over {
            book.open.remove(&(context, number));
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(flags: u32) -> Word {
        let acknowledged = 0;
        Word {
            flags,
            acknowledged,
        }
    }

    #[test]
    fn who_is_there_and_not_gone_is_left() {
        let meetings = Meetings::default();
        let members = [4, 2, 3];
        assert_eq!(meetings.come(8, 3, word(6)), 0);
        let ask = |gone: &[usize], failures: &[usize]| {
            let gone = |rank: usize| gone.contains(&rank);
            meetings.outcome((8, 0), &members, gone, failures, || 99)
        };
        assert!(ask(&[2], &[2]).is_none());
        assert_eq!(meetings.come(8, 4, word(3)), 0);
        let outcome = ask(&[2], &[2]).unwrap();
        assert_eq!((outcome.left, outcome.flags), (vec![4, 3], 2));
        // The other rank gets the same outcome, whatever has happened meanwhile.
        assert_eq!(ask(&[2, 4], &[2, 4]).unwrap().left, [4, 3]);
        assert!(meetings.0.lock().unwrap().open.is_empty());
        assert_eq!(meetings.come(8, 3, word(0)), 1);
        assert_eq!(meetings.come(6, 3, word(0)), 0);
    }
}
