//! Meetings of the ranks of a communicator: each brings something, and all that come learn the same
//! outcome. A meeting ends for all, or a rank gives it up and it ends for nobody.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use super::comm::Comm;
use crate::call::limit;
use crate::call::lock::lock;
use crate::result::{Error, ErrorKind, Result};

/// The meetings of a communicator that are not over; each rank comes to one after another.
#[derive(Debug)]
pub(crate) struct Meetings<W, O>(Mutex<Book<W, O>>);

#[derive(Debug)]
struct Book<W, O> {
    /// The number of meetings that each rank has come to.
    attended: Box<[u64]>,
    /// By number.
    open: HashMap<u64, Meeting<W, O>>,
}

#[derive(Debug)]
struct Meeting<W, O> {
    /// The words that ranks have brought, by rank.
    brought: Box<[Option<W>]>,
    /// The number of ranks that have not come.
    missing: usize,
    /// The outcome, or the rank that has given it up.
    outcome: Option<Result<O, usize>>,
    /// The number of ranks that have come and not left.
    present: usize,
}

impl<W, O: Clone> Meetings<W, O> {
    pub(super) fn new(ranks: usize) -> Self {
        Self(Mutex::new(Book {
            attended: vec![0; ranks].into(),
            open: HashMap::new(),
        }))
    }

    /// Comes to the next meeting, and returns its number, and `true` if all have come.
    pub(super) fn come(&self, me: usize, what: W) -> (u64, bool) {
        let mut book = lock(&self.0);
        let number = book.attended[me];
        book.attended[me] += 1;
        let ranks = book.attended.len();
        let meeting = book.open.entry(number).or_insert_with(|| Meeting {
            brought: (0..ranks).map(|_| None).collect(),
            missing: ranks,
            outcome: None,
            present: 0,
        });
        meeting.brought[me] = Some(what);
        meeting.missing -= 1;
        meeting.present += 1;
        (number, meeting.missing == 0)
    }

    /// The outcome, which `end` makes of what ranks have brought, once it can; the rank that has
    /// given the meeting up, if one has.
    pub(super) fn look(
        &self,
        number: u64,
        end: impl FnOnce(&[Option<W>]) -> Option<O>,
    ) -> Option<Result<O, usize>> {
        let mut book = lock(&self.0);
        let meeting = book.open.get_mut(&number)?;
        if meeting.outcome.is_none() {
            meeting.outcome = end(&meeting.brought).map(Ok);
        }
        meeting.outcome.clone()
    }

    /// Gives a meeting up, unless it has an outcome.
    pub(super) fn give_up(&self, number: u64, me: usize) -> Result<O, usize> {
        let mut book = lock(&self.0);
        let meeting = book.open.get_mut(&number);
        let outcome = meeting.map(|meeting| meeting.outcome.get_or_insert(Err(me)).clone());
        outcome.unwrap_or(Err(me))
    }

    /// Leaves a meeting, which is over when nobody is there, nor will come who is not `gone`.
    pub(super) fn leave(&self, number: u64, gone: impl Fn(usize) -> bool) {
        let mut book = lock(&self.0);
        let Some(meeting) = book.open.get_mut(&number) else {
            return;
        };
        meeting.present -= 1;
        let mut brought = meeting.brought.iter().enumerate();
        let will_come = |(rank, what): (usize, &Option<W>)| what.is_none() && !gone(rank);
        if meeting.present == 0 && (meeting.missing == 0 || !brought.any(will_come)) {
            book.open.remove(&number);
        }
    }

    /// The number of those that are not over.
    #[cfg(test)]
    pub(super) fn open(&self) -> usize {
        lock(&self.0).open.len()
    }
}

impl Comm {
    /// Brings something to the next meeting, and returns what `end` makes of it once all ranks have
    /// come; `None` at `end_of_wait`. Collective.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`]; those of [`goes_on`](Self::goes_on); [`ErrorKind::PeerFailed`] if a
    /// rank has ended or failed.
    pub(super) fn meet_all<W, O: Clone>(
        &self,
        operation: &'static str,
        meetings: &Meetings<W, O>,
        what: W,
        end_of_wait: Option<Instant>,
        end: impl Fn(&[Option<W>]) -> Option<O>,
    ) -> Result<Option<O>> {
        let number = self.come_to(operation, meetings, what)?;
        let has_limit = end_of_wait.is_some();
        let look = || {
            let met = self.look_at(operation, meetings, number, has_limit, &end)?;
            let is_over = met.is_some() || end_of_wait.is_some_and(|end| end <= Instant::now());
            Ok(is_over.then_some(met))
        };
        let met = match self.ranks().patience.look(|| look().transpose()) {
            Some(met) => met,
            None => self.mailbox().until(end_of_wait, look),
        };
        let is_late = match &met {
            Ok(met) => met.is_none(),
            Err(error) => error.kind() == ErrorKind::TimedOut,
        };
        let met = match is_late.then(|| meetings.give_up(number, self.rank)) {
            Some(Ok(outcome)) => Ok(Some(outcome)),
            Some(Err(_)) => {
                self.break_off();
                met
            }
            None => met,
        };
        self.leave(meetings, number);
        met
    }

    /// Comes to the next meeting, and returns its number.
    pub(super) fn come_to<W, O: Clone>(
        &self,
        operation: &'static str,
        meetings: &Meetings<W, O>,
        what: W,
    ) -> Result<u64> {
        self.goes_on(operation, || false)?;
        let (number, all) = meetings.come(self.rank, what);
        if all {
            self.wake_others();
        }
        Ok(number)
    }

    /// The outcome of a meeting, if it has one yet.
    pub(super) fn look_at<W, O: Clone>(
        &self,
        operation: &'static str,
        meetings: &Meetings<W, O>,
        number: u64,
        has_limit: bool,
        end: impl Fn(&[Option<W>]) -> Option<O>,
    ) -> Result<Option<O>> {
        let has_ended = |rank: usize| self.ranks().has_ended(self.members[rank]);
        let mut gone = None;
        let met = meetings.look(number, |brought| {
            let outcome = end(brought);
            if outcome.is_none() {
                // A rank comes before it ends.
                let missing = |&rank: &usize| brought[rank].is_none() && has_ended(rank);
                gone = (0..brought.len()).find(missing);
            }
            outcome
        });
        if let Some(Ok(outcome)) = met {
            return Ok(Some(outcome));
        }
        self.ranks().no_failure(operation, self.place.rank)?;
        if let Some(rank) = gone {
            let detail = format_args!("rank {rank} ended without doing its part");
            return Err(Error::new(ErrorKind::PeerFailed, operation, detail));
        }
        self.goes_on(operation, || has_limit || limit::is_limited())?;
        Ok(None)
    }

    pub(super) fn leave<W, O: Clone>(&self, meetings: &Meetings<W, O>, number: u64) {
        meetings.leave(number, |rank| self.ranks().has_ended(self.members[rank]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(brought: &[Option<u32>]) -> Option<u32> {
        brought.iter().copied().sum()
    }

    #[test]
    fn all_who_come_learn_the_outcome_and_a_meeting_is_over_when_they_have_left() {
        let meetings = Meetings::new(3);
        assert_eq!(meetings.come(2, 4), (0, false));
        assert_eq!(meetings.come(0, 1), (0, false));
        assert_eq!(meetings.come(0, 0), (1, false));
        assert_eq!(meetings.look(0, sum), None);
        assert_eq!(meetings.come(1, 2), (0, true));
        for _ in 0..3 {
            assert_eq!(meetings.open(), 2);
            assert_eq!(meetings.look(0, sum), Some(Ok(7)));
            // Whatever has happened meanwhile.
            assert_eq!(meetings.look(0, |_| Some(8)), Some(Ok(7)));
            assert_eq!(meetings.give_up(0, 1), Ok(7));
            meetings.leave(0, |_| false);
        }
        assert_eq!(meetings.open(), 1);
    }

    #[test]
    fn one_that_is_given_up_is_so_for_all_and_the_next_one_is_not() {
        let meetings = Meetings::new(2);
        meetings.come(1, 1);
        assert_eq!(meetings.give_up(0, 1), Err(1));
        meetings.leave(0, |_| false);
        assert_eq!(meetings.come(0, 1), (0, true));
        assert_eq!(meetings.look(0, sum), Some(Err(1)));
        meetings.leave(0, |_| false);
        assert_eq!(meetings.open(), 0);
        assert_eq!(
            (meetings.come(1, 3), meetings.come(0, 3)),
            ((1, false), (1, true))
        );
        assert_eq!(meetings.look(1, sum), Some(Ok(6)));
    }

    #[test]
    fn nobody_waits_for_who_is_gone() {
        let meetings = Meetings::<u32, u32>::new(2);
        meetings.come(0, 1);
        meetings.leave(0, |_| false);
        assert_eq!(meetings.open(), 1, "the other one may come");
        meetings.come(0, 1);
        meetings.leave(1, |rank| rank == 1);
        assert_eq!(meetings.open(), 1);
    }
}
