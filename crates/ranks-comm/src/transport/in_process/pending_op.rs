//! Posted receives, and synchronous sends that are not matched yet.

use std::sync::MutexGuard;

use super::comm::Comm;
use super::mailbox::{Envelope, Pattern, Queues, Receipt, Ticket};
use super::payload::Sent;
use crate::data::raw_slice::{OpInfo, RecvStorage, RecvTarget};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::{Result, Status};
use crate::transport::completion::Completion;
use crate::transport::pending_op;

/// A pending operation among threads.
#[derive(Debug)]
pub(crate) enum PendingOp {
    /// A receive; the message waits in the mailbox until it is tested or waited for.
    Posted {
        ticket: Ticket,
        pattern: Pattern,
        landing: RecvTarget,
        role: &'static OpInfo,
    },
    /// A synchronous send to that rank of the world.
    Unmatched {
        receipt: Receipt,
        dest: usize,
        role: &'static OpInfo,
    },
}

/// The messages that have arrived at a rank, of which none arrives meanwhile.
pub(crate) struct Arrived<'a>(MutexGuard<'a, Queues>);

impl Comm {
    /// The messages that have arrived at this rank.
    pub(crate) fn arrived(&self) -> Arrived<'_> {
        Arrived(self.place.world.queues(self.place.rank))
    }

    /// Sends a copy: complete immediately, or when it is matched.
    pub(crate) fn isend(
        &self,
        role: &'static OpInfo,
        sent: Sent<'_>,
        dest: Destination,
        tag: i32,
        synchronous: bool,
    ) -> Result<pending_op::PendingOp> {
        let over = pending_op::PendingOp::over(Status::null());
        let Destination::Rank(dest) = dest else {
            return Ok(over);
        };
        let receipt = synchronous.then(|| Receipt::new(self.place.rank, self.context));
        let signed = receipt.clone();
        self.deliver(role.operation, dest, self.context, tag, sent, signed)?;
        let dest = self.peers[dest];
        Ok(match receipt {
            None => over,
            Some(receipt) => pending_op::PendingOp::InProcess(PendingOp::Unmatched {
                receipt,
                dest,
                role,
            }),
        })
    }

    /// Posts a receive.
    pub(crate) fn irecv(
        &self,
        role: &'static OpInfo,
        landing: RecvTarget,
        source: Source,
        tag: Tag,
    ) -> pending_op::PendingOp {
        let Some(pattern) = self.pattern(source, tag) else {
            return pending_op::PendingOp::over(Status::null());
        };
        let ticket = self.place.world.post(self.place.rank, pattern);
        pending_op::PendingOp::InProcess(PendingOp::Posted {
            ticket,
            pattern,
            landing,
            role,
        })
    }
}

impl PendingOp {
    /// Completes a receive whose message has arrived.
    pub(crate) fn land(&self, arrived: &mut Arrived<'_>) -> Option<Result<Completion>> {
        let Self::Posted {
            ticket,
            landing,
            role,
            ..
        } = self
        else {
            return None;
        };
        let message = arrived.0.collect(*ticket);
        Some(land(role, *landing, message.as_ref()?))
    }

    pub(crate) fn operation(&self) -> &'static str {
        match self {
            Self::Posted { role, .. } | Self::Unmatched { role, .. } => role.operation,
        }
    }

    pub(crate) fn test(&mut self, comm: &Comm) -> Option<Result<Completion>> {
        let (world, me) = (&comm.place.world, comm.place.rank);
        match self {
            Self::Posted {
                ticket,
                pattern,
                landing,
                role,
            } => {
                let arrived = |queues: &mut Queues| queues.collect(*ticket);
                let found = world
                    .look_once(role.operation, me, pattern, &comm.peers, arrived)
                    .or_else(|error| world.end_posted(me, *ticket).ok_or(error).map(Some));
                let message = found.transpose()?;
                Some(message.and_then(|message| land(role, *landing, &message)))
            }
            Self::Unmatched {
                receipt,
                dest,
                role,
            } => match world.is_received(role.operation, receipt, *dest) {
                Ok(false) => None,
                Ok(true) => Some(Ok(Completion::plain(Status::null()))),
                Err(error) => Some(Err(error)),
            },
        }
    }

    pub(crate) fn wait(&mut self, comm: &Comm) -> Result<Completion> {
        let (world, me) = (&comm.place.world, comm.place.rank);
        match self {
            Self::Posted {
                ticket,
                pattern,
                landing,
                role,
            } => {
                let arrived = |queues: &mut Queues| queues.collect(*ticket);
                world
                    .wait(role.operation, me, pattern, &comm.peers, arrived)
                    .or_else(|error| world.end_posted(me, *ticket).ok_or(error))
                    .and_then(|message| land(role, *landing, &message))
            }
            Self::Unmatched {
                receipt,
                dest,
                role,
            } => {
                world.await_receipt(role.operation, receipt, *dest)?;
                Ok(Completion::plain(Status::null()))
            }
        }
    }

    /// Cancels it. Returns `true` if it has ended without a message.
    pub(crate) fn cancel(&mut self, comm: &Comm) -> bool {
        match self {
            Self::Posted { ticket, .. } => comm.arrived().0.take_back(*ticket),
            Self::Unmatched { .. } => false,
        }
    }

    /// Releases it; only its owner touches the memory of a receive, which may be freed now.
    pub(crate) fn abandon(&mut self, comm: &Comm) {
        if let Self::Posted { ticket, .. } = self {
            comm.place.world.abandon(comm.place.rank, *ticket);
        }
    }
}

fn land(role: &OpInfo, landing: RecvTarget, message: &Envelope) -> Result<Completion> {
    let (status, payload) = (message.status(), message.bytes());
    let Some(element) = role.element else {
        return Ok(Completion::plain(status));
    };
    message.fits(role.operation, element, landing.capacity(element))?;
    let room = match landing {
        RecvTarget::Into(span) => {
            span.fill(payload);
            None
        }
        RecvTarget::New(align) => Some(RecvStorage::copy(role.operation, payload, align)?),
    };
    Ok(Completion { status, room })
}
