//! Mailboxes: the messages that have arrived at one rank, and their matching with receives.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::data::raw_slice::Element;

/// One message, as the sender left it.
#[derive(Debug)]
pub(crate) struct Envelope {
    /// The sender's rank in the communicator of the message.
    pub(crate) source: usize,
    /// The tag; 0 for messages of collectives.
    pub(crate) tag: i32,
    /// The bytes.
    pub(crate) payload: Vec<u8>,
    /// The type of the elements.
    pub(crate) element: Element,
    /// Set for a synchronous send.
    pub(crate) receipt: Option<Receipt>,
}

/// The receipt by which a synchronous sender learns that its message has been matched.
#[derive(Debug, Clone)]
pub(crate) struct Receipt {
    /// The sender's rank in the world, to be woken.
    pub(crate) sender: usize,
    /// The context of the message.
    pub(crate) context: u64,
    matched: Arc<AtomicBool>,
}

impl Receipt {
    pub(crate) fn new(sender: usize, context: u64) -> Self {
        Self {
            sender,
            context,
            matched: Arc::new(AtomicBool::new(false)),
        }
    }

    pub(crate) fn sign(&self) {
        self.matched.store(true, Ordering::Release);
    }

    pub(crate) fn is_signed(&self) -> bool {
        self.matched.load(Ordering::Acquire)
    }
}

/// The messages that a receive matches; `None` is a wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) context: u64,
    pub(crate) source: Option<usize>,
    pub(crate) tag: Option<i32>,
}

impl Pattern {
    fn matches(&self, message: &Envelope) -> bool {
        self.source.is_none_or(|source| source == message.source)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

/// The messages that have arrived and are not yet received, by context, in order of arrival; and
/// the pending receives.
///
/// The first message of a queue that matches is the one to take: messages of one sender in one
/// context do not overtake each other (MPI 5.0 §3.5). For the same reason a message matches the
/// first posted receive that it can.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    by_context: HashMap<u64, VecDeque<Envelope>>,
    posted: Vec<Posted>,
    next_number: u64,
    /// The patterns that sleeping threads wait for: such a message, or another change.
    awaited: Vec<Option<Pattern>>,
}

/// A posted receive.
#[derive(Debug)]
struct Posted {
    number: u64,
    pattern: Pattern,
    arrived: Option<Envelope>,
    /// No rank waits for the message.
    abandoned: bool,
}

impl Queues {
    /// Notes that a thread sleeps until such a message arrives, or something else changes.
    pub(crate) fn sleeps(&mut self, until: Option<Pattern>) {
        self.awaited.push(until);
    }

    /// Notes that such a thread is awake.
    pub(crate) fn awakes(&mut self, until: Option<Pattern>) {
        if let Some(index) = self.awaited.iter().position(|other| *other == until) {
            self.awaited.swap_remove(index);
        }
    }

    /// Returns `true` if any thread sleeps.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Returns `true` if a thread sleeps until such a message arrives.
    pub(crate) fn awaits(&self, context: u64, message: &Envelope) -> bool {
        let mut patterns = self.awaited.iter().flatten();
        patterns.any(|pattern| pattern.context == context && pattern.matches(message))
    }

    /// Adds a message that has arrived; the receipt to be signed, if a posted receive matches a
    /// synchronous one.
    pub(crate) fn push(&mut self, context: u64, message: Envelope) -> Option<Receipt> {
        let waiting = self.posted.iter().position(|posted| {
            posted.arrived.is_none()
                && posted.pattern.context == context
                && posted.pattern.matches(&message)
        });
        let Some(index) = waiting else {
            self.by_context
                .entry(context)
                .or_default()
                .push_back(message);
            return None;
        };
        let receipt = message.receipt.clone();
        if self.posted[index].abandoned {
            self.posted.remove(index);
        } else {
            self.posted[index].arrived = Some(message);
        }
        receipt
    }

    /// Posts a receive and returns its number; the second value is the receipt to be signed, if its
    /// message is here already.
    pub(crate) fn post(&mut self, pattern: Pattern) -> (u64, Option<Receipt>) {
        let number = self.next_number;
        self.next_number += 1;
        let arrived = self.take(&pattern);
        let receipt = arrived.as_ref().and_then(|message| message.receipt.clone());
        self.posted.push(Posted {
            number,
            pattern,
            arrived,
            abandoned: false,
        });
        (number, receipt)
    }

    /// The message of a posted receive, if it has arrived; the receive is complete then.
    pub(crate) fn collect(&mut self, number: u64) -> Option<Envelope> {
        let index = self.index(number)?;
        let message = self.posted[index].arrived.take()?;
        self.posted.remove(index);
        Some(message)
    }

    /// Cancels a posted receive; `false` if its message has arrived.
    pub(crate) fn take_back(&mut self, number: u64) -> bool {
        match self.index(number) {
            Some(index) if self.posted[index].arrived.is_none() => {
                self.posted.remove(index);
                true
            }
            _ => false,
        }
    }

    /// Abandons a posted receive: a message that arrives for it is discarded.
    pub(crate) fn abandon(&mut self, number: u64) {
        if let Some(index) = self.index(number) {
            if self.posted[index].arrived.is_some() {
                self.posted.remove(index);
            } else {
                self.posted[index].abandoned = true;
            }
        }
    }

    fn index(&self, number: u64) -> Option<usize> {
        self.posted
            .iter()
            .position(|posted| posted.number == number)
    }

    /// The first message that matches, left in the queue.
    pub(crate) fn peek(&self, pattern: &Pattern) -> Option<&Envelope> {
        self.by_context
            .get(&pattern.context)?
            .iter()
            .find(|message| pattern.matches(message))
    }

    /// The first message that matches, taken out.
    pub(crate) fn take(&mut self, pattern: &Pattern) -> Option<Envelope> {
        let queue = self.by_context.get_mut(&pattern.context)?;
        let index = queue.iter().position(|message| pattern.matches(message))?;
        let message = queue.remove(index);
        if queue.is_empty() {
            self.by_context.remove(&pattern.context);
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(source: usize, tag: i32, byte: u8) -> Envelope {
        Envelope {
            source,
            tag,
            payload: vec![byte],
            element: Element::of::<u8>(),
            receipt: None,
        }
    }

    fn pattern(source: Option<usize>, tag: Option<i32>) -> Pattern {
        Pattern {
            context: 1,
            source,
            tag,
        }
    }

    #[test]
    fn equal_envelopes_come_out_in_order() {
        let mut queues = Queues::default();
        for byte in 0..3 {
            queues.push(1, message(0, 7, byte));
        }
        for byte in 0..3 {
            let taken = queues.take(&pattern(Some(0), Some(7))).unwrap();
            assert_eq!(taken.payload, [byte]);
        }
        assert!(queues.by_context.is_empty());
    }

    #[test]
    fn wildcards_take_the_first_that_arrived() {
        let mut queues = Queues::default();
        queues.push(1, message(2, 5, 1));
        queues.push(1, message(0, 9, 2));
        assert_eq!(queues.peek(&pattern(None, None)).unwrap().source, 2);
        assert_eq!(queues.take(&pattern(None, Some(9))).unwrap().source, 0);
        assert_eq!(queues.take(&pattern(Some(2), None)).unwrap().tag, 5);
        assert!(queues.take(&pattern(None, None)).is_none());
    }

    #[test]
    fn messages_go_to_posted_receives_in_order() {
        let mut queues = Queues::default();
        let (first, _) = queues.post(pattern(Some(0), None));
        let (second, _) = queues.post(pattern(None, Some(7)));
        assert!(queues.collect(first).is_none());
        queues.push(1, message(0, 7, 1));
        queues.push(1, message(0, 7, 2));
        queues.push(1, message(0, 7, 3));
        assert_eq!(queues.collect(second).unwrap().payload, [2]);
        assert_eq!(queues.collect(first).unwrap().payload, [1]);
        assert!(queues.collect(first).is_none());
        let (third, _) = queues.post(pattern(None, None));
        assert_eq!(queues.collect(third).unwrap().payload, [3]);
    }

    #[test]
    fn posted_receives_are_taken_back_or_abandoned() {
        let mut queues = Queues::default();
        let (first, _) = queues.post(pattern(None, None));
        assert!(queues.take_back(first) && !queues.take_back(first));
        let (second, _) = queues.post(pattern(None, None));
        queues.abandon(second);
        queues.push(1, message(0, 0, 1));
        assert!(queues.peek(&pattern(None, None)).is_none(), "swallowed");
        queues.push(1, message(0, 0, 2));
        assert_eq!(queues.take(&pattern(None, None)).unwrap().payload, [2]);
    }

    #[test]
    fn who_sleeps_is_woken_by_its_own_message_alone() {
        let mut queues = Queues::default();
        let own = Some(pattern(Some(3), Some(7)));
        assert!(!queues.is_awaited() && !queues.awaits(1, &message(3, 7, 0)));
        queues.sleeps(own);
        queues.sleeps(None);
        queues.sleeps(own);
        for (context, other) in [
            (1, message(3, 6, 0)),
            (1, message(2, 7, 0)),
            (2, message(3, 7, 0)),
        ] {
            assert!(!queues.awaits(context, &other));
        }
        queues.awakes(own);
        assert!(queues.awaits(1, &message(3, 7, 0)), "there is another one");
        queues.awakes(own);
        assert!(!queues.awaits(1, &message(3, 7, 0)) && queues.is_awaited());
        queues.awakes(None);
        assert!(!queues.is_awaited());
    }

    #[test]
    fn contexts_are_apart() {
        let mut queues = Queues::default();
        queues.push(2, message(0, 0, 1));
        assert!(queues.peek(&pattern(None, None)).is_none());
    }

    #[test]
    fn a_receipt_is_seen_by_its_clone() {
        let receipt = Receipt::new(3, 0);
        let seen = receipt.clone();
        assert!(!seen.is_signed());
        receipt.sign();
        assert!(seen.is_signed());
        assert_eq!(seen.sender, 3);
    }
}
