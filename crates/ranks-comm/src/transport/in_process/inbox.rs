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
    /// The number of times that those who slept were woken.
    woken: u64,
}

impl Inbox {
    /// Notes that a thread sleeps until such a message arrives, or something else changes. Returns
    /// what it passes to [`awakes`](Self::awakes).
    pub(crate) fn sleeps(&mut self, until: Option<Pattern>) -> u64 {
        self.awaited.push(until);
        self.woken
    }

    /// Notes that such a thread is awake, if nobody has woken it.
    pub(crate) fn awakes(&mut self, until: Option<Pattern>, since: u64) {
        let mut awaited = self.awaited.iter();
        if since == self.woken
            && let Some(index) = awaited.position(|other| *other == until)
        {
            self.awaited.swap_remove(index);
        }
    }

    /// Returns `true` if any thread sleeps: the caller wakes them all, and nobody else has to.
    pub(crate) fn wakes(&mut self) -> bool {
        let any = !self.awaited.is_empty();
        self.awaited.clear();
        self.woken += u64::from(any);
        any
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
        assert!(!inbox.wakes() && !inbox.awaits(1, &message(3, 7, 0)));
        let since = inbox.sleeps(own);
        inbox.sleeps(None);
        inbox.sleeps(own);
        for (context, other) in [
            (1, message(3, 6, 0)),
            (1, message(2, 7, 0)),
            (2, message(3, 7, 0)),
        ] {
            assert!(!inbox.awaits(context, &other));
        }
        inbox.awakes(own, since);
        assert!(inbox.awaits(1, &message(3, 7, 0)), "there is another one");
        inbox.awakes(own, since);
        assert!(!inbox.awaits(1, &message(3, 7, 0)) && inbox.wakes());
    }

    #[test]
    fn who_is_woken_is_not_woken_again_and_wakes_for_itself_alone() {
        let mut inbox = Inbox::default();
        let since = inbox.sleeps(None);
        assert!(inbox.wakes() && !inbox.wakes());
        // Another one sleeps before the first one runs.
        inbox.sleeps(None);
        inbox.awakes(None, since);
        assert!(inbox.wakes());
    }
}
