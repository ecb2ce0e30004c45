//! The inbox of a rank: messages that its threads have not looked at yet.
//!
//! A sender holds its lock for no longer than it takes to add to a list. Matching is left to the
//! threads of the receiver, which move the whole list to the [queues](super::mailbox::Queues) when
//! they look for a message: a message of a sender that is not synchronous may arrive later as well.

use super::mailbox::{Envelope, Pattern};

/// The messages that arrived last, each with its context, and what sleeping threads wait for.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    pub(super) messages: Vec<(u64, Envelope)>,
    /// Such a message, or another change.
    awaited: Vec<Option<Pattern>>,
}

impl Inbox {
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
        patterns.any(|pattern| *pattern == message.pattern(context).of_kind(pattern.kind()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::mailbox::tests::{message, pattern};
    use super::*;

    #[test]
    fn who_sleeps_is_woken_by_its_own_message_alone() {
        let mut inbox = Inbox::default();
        let own = Some(pattern(Some(3), Some(7)));
        assert!(!inbox.is_awaited() && !inbox.awaits(1, &message(3, 7, 0)));
        inbox.sleeps(own);
        inbox.sleeps(None);
        inbox.sleeps(own);
        for (context, other) in [
            (1, message(3, 6, 0)),
            (1, message(2, 7, 0)),
            (2, message(3, 7, 0)),
        ] {
            assert!(!inbox.awaits(context, &other));
        }
        inbox.awakes(own);
        assert!(inbox.awaits(1, &message(3, 7, 0)), "there is another one");
        inbox.awakes(own);
        assert!(!inbox.awaits(1, &message(3, 7, 0)) && inbox.is_awaited());
        inbox.awakes(None);
        assert!(!inbox.is_awaited());
    }
}
