//! The messages that have arrived at one rank, and which of them a receive may take.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One message, as the sender left it.
#[derive(Debug)]
pub(crate) struct Envelope {
    /// The sender's rank in the communicator of the message.
    pub(crate) source: usize,
    /// The tag; 0 for messages of collectives.
    pub(crate) tag: i32,
    /// The bytes.
    pub(crate) payload: Vec<u8>,
    /// Set for a synchronous send.
    pub(crate) receipt: Option<Receipt>,
}

/// How a synchronous sender learns that its message has been matched.
#[derive(Debug, Clone)]
pub(crate) struct Receipt {
    /// The sender's rank in the world: whom to wake.
    pub(crate) sender: usize,
    matched: Arc<AtomicBool>,
}

impl Receipt {
    pub(crate) fn new(sender: usize) -> Self {
        Self {
            sender,
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

/// Which messages a receive takes; `None` is a wildcard.
#[derive(Debug, Clone, Copy)]
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

/// What has arrived and is not yet received, by context, in order of arrival.
///
/// The first message of a queue that matches is the one to take: messages of one sender in one context do not
/// overtake each other (MPI 5.0 §3.5).
#[derive(Debug, Default)]
pub(crate) struct Queues {
    by_context: HashMap<u64, VecDeque<Envelope>>,
}

impl Queues {
    pub(crate) fn push(&mut self, context: u64, message: Envelope) {
        self.by_context
            .entry(context)
            .or_default()
            .push_back(message);
    }

    /// The first message that matches, left where it is.
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
    fn contexts_are_apart() {
        let mut queues = Queues::default();
        queues.push(2, message(0, 0, 1));
        assert!(queues.peek(&pattern(None, None)).is_none());
    }

    #[test]
    fn a_receipt_is_seen_by_its_clone() {
        let receipt = Receipt::new(3);
        let seen = receipt.clone();
        assert!(!seen.is_signed());
        receipt.sign();
        assert!(seen.is_signed());
        assert_eq!(seen.sender, 3);
    }
}
