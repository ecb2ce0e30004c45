//! The matching of messages that have arrived with receives that wait.

use super::order::Pattern;
use super::queue::Queue;
use super::{BY_TEST, Claims};
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::{Result, Status};
use crate::transport::completion::Completion;
use crate::transport::mpi::info::hints_of;
use crate::transport::mpi::probe::{improbe, iprobe};

/// The hints by which a program promises that it asks for no message from any rank, or of any tag
/// (MPI 5.0 §7.4.4).
const PROMISES: [&str; 2] = ["mpi_assert_no_any_source", "mpi_assert_no_any_tag"];

impl Claims {
    /// Makes progress on up to so many of the receives.
    pub(super) fn look(&self, queue: &mut Queue, most: usize) {
        let any_left = !queue.closed && self.take_in_order(queue);
        self.look_at(queue, most, any_left);
    }

    /// Matches messages in the order in which they have arrived, up to one that no receive waits
    /// for; returns `true` if there may be one. The library finds the first message without a
    /// search, but has to look past those that arrived before for one of a given pattern.
    pub(super) fn take_in_order(&self, queue: &mut Queue) -> bool {
        while queue.waiting.patterns() > 1 {
            if !self.may_probe_any(queue) {
                return true;
            }
            let seen = match self.arrived(Source::Any, Tag::Any) {
                Ok(Some(seen)) => seen,
                Ok(None) => return false,
                // What is wrong with a receive is told by the probe for it.
                Err(_) => return true,
            };
            let (Some(source), Some(tag)) = (seen.source(), seen.tag()) else {
                return true;
            };
            let first = queue
                .waiting
                .first_that_matches(&queue.entries, source, tag);
            // Whatever it matches, no message has arrived before.
            let taken = first.is_some_and(|place| {
                self.claim_for(queue, place, Source::Rank(source), Tag::Value(tag))
            });
            if !taken {
                return true;
            }
        }
        false
    }

    /// Makes progress on up to so many receives that have a message, and on those of some patterns
    /// that have none, in turn: of up to as many if a message may have arrived for one of them.
    pub(super) fn look_at(&self, queue: &mut Queue, most: usize, any_left: bool) {
        for _ in 0..most.min(queue.receiving.length) {
            if let Some(place) = queue.receiving.first {
                queue.advance(place);
            }
        }
        if queue.closed {
            return;
        }
        let most = if any_left { most } else { BY_TEST };
        for _ in 0..most.min(queue.waiting.patterns()) {
            if let Some(pattern) = queue.waiting.next_pattern() {
                while self.look_for_first(queue, pattern) {}
            }
        }
    }

    /// Tries to match a message of a pattern; returns `true` if something has changed.
    pub(super) fn look_for_first(&self, queue: &mut Queue, pattern: Pattern) -> bool {
        let first = queue.waiting.first(pattern);
        first.is_some_and(|place| self.look_for_one(queue, place))
    }

    /// Tries to match a message for one that waits; returns `true` if something has changed.
    ///
    /// An earlier receive that matches the message as well is looked for instead, by its own
    /// pattern: the message that it gets may have arrived before.
    pub(super) fn look_for_one(&self, queue: &mut Queue, mut place: usize) -> bool {
        loop {
            let (source, tag) = (queue.entries[place].source, queue.entries[place].tag);
            let (from, under) = match (source, tag) {
                (Source::Rank(from), Tag::Value(under)) => (from, under),
                _ if queue.waiting.patterns() == 1 => {
                    return self.claim_for(queue, place, source, tag);
                }
                _ => match self.seen_for(queue, place) {
                    Ok(Some(seen)) => seen,
                    Ok(None) => return false,
                    Err(error) => {
                        self.end(queue, place, Err(error));
                        return true;
                    }
                },
            };
            match queue
                .waiting
                .first_that_matches(&queue.entries, from, under)
            {
                Some(first) if first != place => place = first,
                // This very message: one from another rank that has arrived meanwhile may be for
                // another receive.
                _ => {
                    return self.claim_for(queue, place, Source::Rank(from), Tag::Value(under));
                }
            }
        }
    }

    /// Sender and tag of the first message that has arrived and matches the receive at `place`.
    fn seen_for(&self, queue: &mut Queue, place: usize) -> Result<Option<(usize, i32)>> {
        let entry = &queue.entries[place];
        let Some(seen) = self.arrived(entry.source, entry.tag)? else {
            queue.may_have_sender(self.comm, place)?;
            return Ok(None);
        };
        Ok(seen.source().zip(seen.tag()))
    }

    /// Matches such a message, if one has arrived, for the receive at `place`; returns `true` if
    /// something has changed.
    fn claim_for(&self, queue: &mut Queue, place: usize, source: Source, tag: Tag) -> bool {
        // SAFETY: the communicator lives, as it is not closed; rank and tag are checked.
        let found = unsafe { improbe(self.comm, source, tag) };
        let found = match found {
            Ok(None) => queue.may_have_sender(self.comm, place).map(|()| None),
            found => found,
        };
        match found {
            Ok(None) => false,
            Ok(Some((message, status))) => {
                self.less(queue, 1);
                queue.begin(place, message, status);
                true
            }
            Err(error) => {
                self.end(queue, place, Err(error));
                true
            }
        }
    }

    fn end(&self, queue: &mut Queue, place: usize, outcome: Result<Completion>) {
        queue.end(place, outcome);
        self.less(queue, 1);
    }

    /// Returns `true` unless the program has promised the library that it asks for no message from
    /// any rank or of any tag.
    fn may_probe_any(&self, queue: &mut Queue) -> bool {
        *queue.may_probe_any.get_or_insert_with(|| {
            // SAFETY: the communicator lives, as it is not closed.
            let hints = unsafe { hints_of(self.comm) };
            hints.is_ok_and(|hints| {
                let mut promises = PROMISES.iter().filter_map(|key| hints.get(key));
                promises.all(|promised| promised == "false")
            })
        })
    }

    /// The first message from such a sender and of such a tag that has arrived.
    fn arrived(&self, source: Source, tag: Tag) -> Result<Option<Status>> {
        // SAFETY: the communicator lives, as it is not closed; rank and tag are checked.
        unsafe { iprobe(self.comm, source, tag) }
    }
}
