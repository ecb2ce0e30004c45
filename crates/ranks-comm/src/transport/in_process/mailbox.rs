//! Mailboxes: the messages that have arrived at one rank, and their matching with receives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::lists::{KINDS, Lists};
pub(crate) use super::lists::{Pattern, Ticket};
use super::payload::Payload;
use crate::data::raw_slice::Element;

/// One message, as the sender left it.
#[derive(Debug)]
pub(crate) struct Envelope {
    /// The sender's rank in the communicator of the message.
    pub(crate) source: usize,
    /// The tag; 0 for messages of collectives.
    pub(crate) tag: i32,
    /// The bytes.
    pub(crate) payload: Payload,
    /// The type of the elements.
    pub(crate) element: Element,
    /// For a message of a collective: its operation, and the kind of its elements.
    pub(crate) collective: Option<(&'static str, u8)>,
    /// Set for a synchronous send.
    pub(crate) receipt: Option<Receipt>,
}

impl Envelope {
    /// The pattern that it alone matches, with those of the same source and tag.
    pub(super) fn pattern(&self, context: u64) -> Pattern {
        Pattern {
            context,
            source: Some(self.source),
            tag: Some(self.tag),
        }
    }
}

/// The receipt by which a synchronous sender learns that its message has been matched.
#[derive(Debug, Clone)]
pub(crate) struct Receipt(Arc<Due>);

#[derive(Debug)]
struct Due {
    sender: usize,
    context: u64,
    matched: AtomicBool,
}

impl Receipt {
    pub(crate) fn new(sender: usize, context: u64) -> Self {
        Self(Arc::new(Due {
            sender,
            context,
            matched: AtomicBool::new(false),
        }))
    }

    /// The sender's rank in the world, to be woken.
    pub(crate) fn sender(&self) -> usize {
        self.0.sender
    }

    /// The context of the message.
    pub(crate) fn context(&self) -> u64 {
        self.0.context
    }

    pub(crate) fn sign(&self) {
        self.0.matched.store(true, Ordering::Release);
    }

    pub(crate) fn is_signed(&self) -> bool {
        self.0.matched.load(Ordering::Acquire)
    }
}

/// The messages that were taken out of the inbox and are not yet received, and the pending
/// receives, in lists by what matches them.
///
/// The first message of a list is the one to take: messages of one sender in one context do not
/// overtake each other (MPI 5.0 §3.5). For the same reason a message matches the first posted
/// receive that it can, which is at the head of one of four lists.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    arrived: Lists<Envelope>,
    /// The kinds of patterns that were asked for so far, besides those without a wildcard: messages
    /// are in the lists of these.
    wildcards: u8,
    posted: Lists<Posted>,
    /// The number of posted receives without a message, by the kind of their pattern.
    open: [usize; KINDS],
    /// The number of messages that were moved here from the inbox.
    pub(super) moved: u64,
    /// An empty list, to be exchanged with that of the inbox.
    pub(super) spare: Vec<(u64, Envelope)>,
}

/// A posted receive.
#[derive(Debug)]
struct Posted {
    kind: usize,
    arrived: Option<Envelope>,
    /// No rank waits for the message.
    abandoned: bool,
}

impl Queues {
    /// Adds a message that has arrived; the receipt to be signed, if a posted receive matches a
    /// synchronous one.
    pub(crate) fn push(&mut self, context: u64, message: Envelope) -> Option<Receipt> {
        let exact = message.pattern(context);
        let mut first = None;
        for kind in (0..KINDS).filter(|&kind| self.open[kind] > 0) {
            first = Lists::<Posted>::earlier(first, self.posted.first(&exact.of_kind(kind)));
        }
        let Some(first) = first else {
            self.arrived.add(message, exact, 1 | self.wildcards);
            return None;
        };
        let receipt = message.receipt.clone();
        self.posted.unlist(first);
        let mut abandoned = false;
        if let Some(posted) = self.posted.get_mut(first) {
            self.open[posted.kind] -= 1;
            abandoned = posted.abandoned;
            posted.arrived = Some(message);
        }
        if abandoned {
            self.posted.remove(first);
        }
        receipt
    }

    /// Posts a receive and returns its ticket; the second value is the receipt to be signed, if its
    /// message is here already.
    pub(crate) fn post(&mut self, pattern: Pattern) -> (Ticket, Option<Receipt>) {
        let kind = pattern.kind();
        let arrived = self.take(&pattern);
        let receipt = arrived.as_ref().and_then(|message| message.receipt.clone());
        let kinds = if arrived.is_none() { 1 << kind } else { 0 };
        self.open[kind] += usize::from(arrived.is_none());
        let posted = Posted {
            kind,
            arrived,
            abandoned: false,
        };
        (self.posted.add(posted, pattern, kinds), receipt)
    }

    /// The message of a posted receive, if it has arrived; the receive is complete then.
    pub(crate) fn collect(&mut self, ticket: Ticket) -> Option<Envelope> {
        self.posted.get(ticket)?.arrived.as_ref()?;
        self.posted.remove(ticket)?.arrived
    }

    /// Cancels a posted receive; `false` if its message has arrived.
    pub(crate) fn take_back(&mut self, ticket: Ticket) -> bool {
        match self.posted.get(ticket) {
            Some(posted) if posted.arrived.is_none() => {
                self.open[posted.kind] -= 1;
                self.posted.remove(ticket);
                true
            }
            _ => false,
        }
    }

    /// Abandons a posted receive: a message that arrives for it is discarded.
    pub(crate) fn abandon(&mut self, ticket: Ticket) {
        match self.posted.get_mut(ticket) {
            Some(posted) if posted.arrived.is_none() => posted.abandoned = true,
            _ => drop(self.posted.remove(ticket)),
        }
    }

    /// The first message that matches, left in its lists.
    pub(crate) fn peek(&mut self, pattern: &Pattern) -> Option<&Envelope> {
        let found = self.find(pattern)?;
        self.arrived.get(found)
    }

    /// The first message that matches, taken out.
    pub(crate) fn take(&mut self, pattern: &Pattern) -> Option<Envelope> {
        let found = self.find(pattern)?;
        self.arrived.remove(found)
    }

    /// The messages of the program that were not received: what matches each, and its length.
    pub(super) fn unreceived(&self) -> impl Iterator<Item = (Pattern, usize)> {
        let messages = self.arrived.in_order().into_iter();
        messages
            .filter(|(_, message)| message.collective.is_none())
            .map(|(pattern, message)| (pattern, message.payload.len()))
    }

    /// The posted receives that were abandoned before a message came.
    pub(super) fn abandoned(&self) -> impl Iterator<Item = Pattern> {
        let receives = self.posted.in_order().into_iter();
        receives
            .filter(|(_, posted)| posted.abandoned)
            .map(|(pattern, _)| pattern)
    }

    fn find(&mut self, pattern: &Pattern) -> Option<Ticket> {
        let kind = pattern.kind();
        if kind > 0 && self.wildcards & 1 << kind == 0 {
            self.wildcards |= 1 << kind;
            self.arrived.list_by(kind);
        }
        self.arrived.first(pattern)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn message(source: usize, tag: i32, byte: u8) -> Envelope {
        Envelope {
            source,
            tag,
            payload: Payload::copy(&[byte]),
            element: Element::of::<u8>(),
            collective: None,
            receipt: None,
        }
    }

    pub(in super::super) fn pattern(source: Option<usize>, tag: Option<i32>) -> Pattern {
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
            assert_eq!(taken.payload.bytes(), [byte]);
        }
        assert!(queues.arrived.is_empty());
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
        assert_eq!(queues.collect(second).unwrap().payload.bytes(), [2]);
        assert_eq!(queues.collect(first).unwrap().payload.bytes(), [1]);
        assert!(queues.collect(first).is_none());
        let (third, _) = queues.post(pattern(None, None));
        assert_eq!(queues.collect(third).unwrap().payload.bytes(), [3]);
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
        assert_eq!(
            queues.take(&pattern(None, None)).unwrap().payload.bytes(),
            [2]
        );
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
        assert_eq!(seen.sender(), 3);
    }
}
