//! Messages in the mailboxes of ranks.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use super::lists::KEPT;
use super::mailbox::{Envelope, Pattern, Queues, Receipt, Ticket};
use super::world::World;
use crate::call::lock::lock;
use crate::result::{Error, ErrorKind, Result};

impl World {
    /// Delivers a message to the mailbox of `dest`, a rank of the world.
    pub(crate) fn deliver(&self, dest: usize, context: u64, message: Envelope) {
        let mailbox = &self.mailboxes[dest];
        let synchronous = message.receipt.is_some();
        let mut inbox = lock(&mailbox.inbox);
        let awaited = inbox.awaits(context, &message) && inbox.wakes();
        inbox.messages.push((context, message));
        mailbox.note_arrival();
        drop(inbox);
        if awaited {
            mailbox.changed.notify_all();
        }
        if synchronous {
            // It is matched although its receiver may not look for long.
            drop(self.queues(dest));
        }
    }

    /// The queues of `me`, with all in them that has arrived.
    pub(super) fn queues(&self, me: usize) -> MutexGuard<'_, Queues> {
        let mailbox = &self.mailboxes[me];
        let mut queues = lock(&mailbox.queues);
        if queues.moved == mailbox.arrivals.load(Ordering::Acquire) {
            return queues;
        }
        let mut messages = std::mem::take(&mut queues.spare);
        let mut inbox = lock(&mailbox.inbox);
        std::mem::swap(&mut inbox.messages, &mut messages);
        queues.moved = mailbox.arrivals.load(Ordering::Relaxed);
        drop(inbox);
        for (context, message) in messages.drain(..) {
            self.acknowledge(queues.push(context, message).as_ref());
        }
        messages.shrink_to(KEPT);
        queues.spare = messages;
        queues
    }

    /// Posts a receive for `me`, and returns its ticket.
    pub(crate) fn post(&self, me: usize, pattern: Pattern) -> Ticket {
        let (ticket, receipt) = lock(&self.mailboxes[me].queues).post(pattern);
        self.acknowledge(receipt.as_ref());
        ticket
    }

    /// Ends a posted receive whose wait has failed, so that it matches no later message; the one
    /// that has arrived meanwhile, if there is one.
    pub(crate) fn end_posted(&self, me: usize, ticket: Ticket) -> Option<Envelope> {
        let mut queues = self.queues(me);
        let arrived = queues.collect(ticket);
        if arrived.is_none() {
            queues.take_back(ticket);
        }
        arrived
    }

    /// Discards the message that arrives for a posted receive.
    pub(crate) fn abandon(&self, me: usize, ticket: Ticket) {
        lock(&self.mailboxes[me].queues).abandon(ticket);
    }

    /// Returns `true` if a synchronous message has been matched; an error if it never can be.
    pub(crate) fn is_received(
        &self,
        operation: &'static str,
        receipt: &Receipt,
        dest: usize,
    ) -> Result<bool> {
        if receipt.is_signed() {
            return Ok(true);
        }
        self.not_revoked(operation, receipt.context())?;
        self.no_failure(operation, receipt.sender())?;
        if self.has_ended(dest) && !receipt.is_signed() {
            return Err(Error::new(
                ErrorKind::PeerFailed,
                operation,
                format_args!("rank {dest} of the world ended without receiving the message"),
            ));
        }
        Ok(receipt.is_signed())
    }

    /// Takes the first message for `me` that matches, and waits until there is one.
    ///
    /// `members` are the world ranks of the communicator, to detect that none is left to send.
    pub(crate) fn receive(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
        members: &[usize],
    ) -> Result<Envelope> {
        let found = self.wait(operation, me, pattern, members, |queues| {
            queues.take(pattern)
        })?;
        self.acknowledge(found.receipt.as_ref());
        Ok(found)
    }

    /// As [`World::receive`], but only probes: source, tag and length in bytes of the first message
    /// that matches.
    pub(crate) fn probe(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
        members: &[usize],
    ) -> Result<(usize, i32, usize)> {
        self.wait(operation, me, pattern, members, |queues| {
            queues.peek(pattern).map(describe)
        })
    }

    /// Takes the first message that matches, if there is one.
    pub(crate) fn try_receive(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
    ) -> Result<Option<Envelope>> {
        self.not_revoked(operation, pattern.context)?;
        let Some(found) = self.queues(me).take(pattern) else {
            return self.no_failure(operation, me).map(|()| None);
        };
        self.acknowledge(found.receipt.as_ref());
        Ok(Some(found))
    }

    /// As [`try_receive`](Self::try_receive), but returns an error if the message can never come.
    pub(crate) fn try_receive_from(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
        members: &[usize],
    ) -> Result<Option<Envelope>> {
        self.look_once(operation, me, pattern, members, |queues| {
            queues.take(pattern)
        })
    }

    /// Probes for the first message that matches, if there is one.
    pub(crate) fn try_probe(
        &self,
        operation: &'static str,
        me: usize,
        pattern: &Pattern,
    ) -> Result<Option<(usize, i32, usize)>> {
        self.not_revoked(operation, pattern.context)?;
        match self.queues(me).peek(pattern).map(describe) {
            Some(found) => Ok(Some(found)),
            None => self.no_failure(operation, me).map(|()| None),
        }
    }

    /// Waits until the message that carries `receipt` has been matched by `dest`.
    pub(crate) fn await_receipt(
        &self,
        operation: &'static str,
        receipt: &Receipt,
        dest: usize,
    ) -> Result<()> {
        let mailbox = &self.mailboxes[receipt.sender()];
        let looked = self.patience.look(|| receipt.is_signed().then_some(()));
        if looked.is_some() {
            return Ok(());
        }
        mailbox.until(None, || {
            let received = self.is_received(operation, receipt, dest)?;
            Ok(received.then_some(()))
        })
    }

    fn acknowledge(&self, receipt: Option<&Receipt>) {
        if let Some(receipt) = receipt {
            receipt.sign();
            self.wake(receipt.sender());
        }
    }
}

fn describe(message: &Envelope) -> (usize, i32, usize) {
    (message.source, message.tag, message.payload.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::in_process::payload::Payload;

    fn message(source: usize) -> Envelope {
        Envelope {
            source,
            tag: 1,
            payload: Payload::copy(&[1, 2, 3]),
            element: crate::data::raw_slice::Element::of::<u8>(),
            collective: None,
            receipt: None,
        }
    }

    fn from(source: Option<usize>) -> Pattern {
        Pattern {
            context: 0,
            source,
            tag: None,
        }
    }

    #[test]
    fn a_message_from_a_rank_that_has_ended_is_still_received() {
        let world = World::new(2);
        world.deliver(0, 0, message(1));
        world.end(1);
        let got = world
            .receive("MPI_Recv", 0, &from(Some(1)), &[0, 1])
            .unwrap();
        assert_eq!(got.payload.bytes(), [1, 2, 3]);
        let error = world
            .receive("MPI_Recv", 0, &from(Some(1)), &[0, 1])
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PeerFailed);
        let error = world
            .receive("MPI_Recv", 0, &from(None), &[0, 1])
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PeerFailed);
    }

    #[test]
    fn a_synchronous_sender_waits_for_its_match() {
        let world = World::new(2);
        let receipt = Receipt::new(0, 0);
        world.deliver(
            1,
            0,
            Envelope {
                collective: None,
                receipt: Some(receipt.clone()),
                ..message(0)
            },
        );
        std::thread::scope(|s| {
            let sender = s.spawn(|| world.await_receipt("MPI_Ssend", &receipt, 1));
            world.receive("MPI_Recv", 1, &from(None), &[0, 1]).unwrap();
            sender.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_synchronous_sender_learns_that_nobody_will_receive() {
        let world = World::new(2);
        world.end(1);
        let error = world
            .await_receipt("MPI_Ssend", &Receipt::new(0, 0), 1)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PeerFailed);
    }
}
