//! The queue of receives that are matched first. Nothing here takes longer the more of them there
//! are.

use ranks_mpi_sys::MPI_Comm;
use slab::Slab;

use super::entry::{Entry, Phase};
use super::order::{Links, List, Waiting};
use crate::data::in_flight::KeepAlive;
use crate::data::raw_slice::{Element, OpInfo, RecvTarget};
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::{Error, ErrorKind, Result, Status};
use crate::transport::completion::Completion;
use crate::transport::mpi::fault_tolerance;
use crate::transport::mpi::message::Message;

#[derive(Default)]
pub(super) struct Queue {
    pub(super) next: u64,
    pub(super) entries: Slab<Entry>,
    /// Those that have no message yet.
    pub(super) waiting: Waiting,
    /// Those whose message the library still receives.
    pub(super) receiving: List,
    /// The number of users of the communicator: the world and what is lent may have several, and
    /// one that was dropped has none.
    pub(super) users: usize,
    /// The communicator is freed, or about to be: no more messages can be matched.
    pub(super) closed: bool,
    /// `false` if the program has promised the library that nothing is asked for from any rank or
    /// of any tag; `None` if the hints are still to be read.
    pub(super) may_probe_any: Option<bool>,
    /// The number of probes that have found nothing.
    pub(super) looks: u32,
    /// Memory that is free; dropped when the queue is not locked, since that may run code of the
    /// program.
    pub(super) spent: Vec<KeepAlive>,
}

impl Queue {
    /// Appends a receive; returns its place and its number.
    #[inline]
    pub(super) fn push(
        &mut self,
        role: &'static OpInfo,
        element: Element,
        landing: RecvTarget,
        source: Source,
        tag: Tag,
    ) -> (usize, u64) {
        let number = self.next;
        self.next += 1;
        let place = self.entries.insert(Entry {
            number,
            role,
            element,
            landing,
            source,
            tag,
            phase: Phase::Waiting,
            abandoned: None,
            links: Links::default(),
        });
        self.waiting.append(&mut self.entries, place);
        (place, number)
    }

    /// The receive of that number, unless it is gone.
    pub(super) fn get(&mut self, place: usize, number: u64) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(place)?;
        (entry.number == number).then_some(entry)
    }

    /// Starts the receive of the message that was matched for one that waits.
    pub(super) fn begin(&mut self, place: usize, message: Message, status: Status) {
        self.waiting.remove(&mut self.entries, place);
        self.entries[place].begin(message, status);
        if self.entries[place].is_over() {
            self.forget_if_abandoned(place);
        } else {
            self.receiving.append(&mut self.entries, place);
        }
    }

    /// Ends one that waits.
    pub(super) fn end(&mut self, place: usize, outcome: Result<Completion>) {
        self.waiting.remove(&mut self.entries, place);
        self.entries[place].phase = Phase::Over(outcome);
        self.forget_if_abandoned(place);
    }

    /// Tests whether the library has received the message of one that is being received.
    pub(super) fn advance(&mut self, place: usize) {
        self.entries[place].advance();
        self.receiving.remove(&mut self.entries, place);
        if self.entries[place].is_over() {
            self.forget_if_abandoned(place);
        } else {
            self.receiving.append(&mut self.entries, place);
        }
    }

    fn forget_if_abandoned(&mut self, place: usize) {
        if let Some(memory) = self.entries[place].abandoned.take() {
            self.entries.remove(place);
            self.spent.push(memory);
        }
    }

    /// Removes one that waits.
    pub(super) fn cancel(&mut self, place: usize) {
        self.waiting.remove(&mut self.entries, place);
        self.entries.remove(place);
    }

    /// Ends all that wait, without a message; returns their number.
    pub(super) fn end_waiting(&mut self) -> usize {
        let mut ended = 0;
        while let Some(place) = self.waiting.pop(&mut self.entries) {
            self.entries[place].phase = Phase::Over(Err(gone()));
            self.forget_if_abandoned(place);
            ended += 1;
        }
        ended
    }

    /// Checks at intervals whether the receive at `place` waits for a rank that has failed.
    ///
    /// # Errors
    /// [`ErrorKind::ProcFailed`], or what the library reports.
    pub(super) fn may_have_sender(&mut self, comm: MPI_Comm, place: usize) -> Result<()> {
        const LOOKS: u32 = 1024;
        self.looks = self.looks.wrapping_add(1);
        if !self.looks.is_multiple_of(LOOKS) || !fault_tolerance::is_on() {
            return Ok(());
        }
        let entry = &self.entries[place];
        let Some(rank) = fault_tolerance::awaited_loss(comm, entry.source)? else {
            return Ok(());
        };
        let why = format_args!("rank {rank} is lost");
        Err(Error::new(ErrorKind::ProcFailed, entry.role.operation, why))
    }

    /// Returns `true` if any has no message yet, or one that the library still receives.
    #[inline]
    pub(super) fn is_under_way(&self) -> bool {
        !self.waiting.is_empty() || self.receiving.first.is_some()
    }

    /// Takes the outcome of the receive of that number, if it is complete.
    #[inline]
    pub(super) fn collect(&mut self, place: usize, number: u64) -> Option<Result<Completion>> {
        let Some(entry) = self.get(place, number) else {
            return Some(Err(gone()));
        };
        if !entry.is_over() {
            return None;
        }
        match self.entries.remove(place).phase {
            Phase::Over(outcome) => Some(outcome),
            Phase::Waiting | Phase::Receiving { .. } => None,
        }
    }
}

#[cold]
fn gone() -> Error {
    let gone = "the communicator of this receive is gone";
    Error::new(ErrorKind::Argument, "MPI_Wait", gone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::raw_slice::receive_of;

    fn push(queue: &mut Queue, source: Source, tag: Tag) -> usize {
        let role = receive_of::<u8>();
        let element = role.element.expect("it receives");
        queue.push(role, element, RecvTarget::New(1), source, tag).0
    }

    /// The receive that such a message is for, which ends with it.
    fn take(queue: &mut Queue, source: usize, tag: i32) -> Option<usize> {
        let place = queue
            .waiting
            .first_that_matches(&queue.entries, source, tag)?;
        queue.end(place, Ok(Completion::plain(Status::null())));
        Some(place)
    }

    #[test]
    fn a_message_is_for_the_first_receive_that_it_matches() {
        let mut queue = Queue::default();
        let wanted = [
            (Source::Rank(1), Tag::Value(5)),
            (Source::Any, Tag::Value(5)),
            (Source::Rank(1), Tag::Any),
            (Source::Any, Tag::Any),
            (Source::Rank(1), Tag::Value(5)),
            (Source::Rank(2), Tag::Value(5)),
        ];
        let places = wanted.map(|(source, tag)| push(&mut queue, source, tag));
        let sent = [
            (2, 6),
            (1, 5),
            (2, 5),
            (1, 5),
            (1, 5),
            (2, 5),
            (1, 5),
            (3, 5),
        ];
        let taken = sent.map(|(source, tag)| take(&mut queue, source, tag));
        let expected = [
            Some(3),
            Some(0),
            Some(1),
            Some(2),
            Some(4),
            Some(5),
            None,
            None,
        ];
        assert_eq!(
            taken,
            expected.map(|at: Option<usize>| at.map(|at| places[at]))
        );
        assert!(!queue.is_under_way());
    }

    /// A model that looks at all receives in order takes the same.
    #[test]
    fn many_receives_and_messages_are_matched_as_in_one_list() {
        let mut queue = Queue::default();
        let mut list: Vec<(usize, Source, Tag)> = Vec::new();
        let mut random = 1u32;
        let mut next = |below: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % below
        };
        let steps = if cfg!(miri) { 500 } else { 20_000 };
        for _ in 0..steps {
            let (source, tag) = (next(4) as usize, next(3));
            match next(5) {
                0 | 1 => {
                    let source = if source == 3 {
                        Source::Any
                    } else {
                        Source::Rank(source)
                    };
                    let tag = match tag {
                        2 => Tag::Any,
                        tag => Tag::Value(tag.cast_signed()),
                    };
                    list.push((push(&mut queue, source, tag), source, tag));
                }
                2 if !list.is_empty() => {
                    let (place, ..) = list.remove(next(1 << 16) as usize % list.len());
                    queue.cancel(place);
                }
                _ => {
                    let tag = tag.cast_signed();
                    let found = list.iter().position(|&(_, from, under)| {
                        [Source::Any, Source::Rank(source)].contains(&from)
                            && [Tag::Any, Tag::Value(tag)].contains(&under)
                    });
                    let expected = found.map(|at| list.remove(at).0);
                    assert_eq!(take(&mut queue, source, tag), expected);
                    if let Some(place) = expected {
                        queue.entries.remove(place);
                    }
                }
            }
            assert_eq!(queue.is_under_way(), !list.is_empty());
        }
    }

    #[test]
    fn patterns_come_in_turn() {
        let mut queue = Queue::default();
        assert_eq!(queue.waiting.next_pattern(), None);
        for tag in [0, 1, 1, 2] {
            push(&mut queue, Source::Rank(0), Tag::Value(tag));
        }
        let mut turn = || queue.waiting.next_pattern().and_then(|(_, tag)| tag);
        let seen = [turn(), turn(), turn(), turn()];
        assert_eq!(seen, [Some(2), Some(1), Some(0), Some(2)]);
        // One that is added or removed keeps no other from its turn.
        let place = queue.waiting.first((Some(0), Some(2))).expect("it waits");
        queue.cancel(place);
        push(&mut queue, Source::Rank(0), Tag::Value(3));
        let mut turn = || queue.waiting.next_pattern().and_then(|(_, tag)| tag);
        let seen = [turn(), turn(), turn()];
        assert_eq!(seen, [Some(1), Some(0), Some(3)]);
        assert_eq!(queue.end_waiting(), 4);
        assert_eq!(queue.waiting.next_pattern(), None);
    }
}
