//! Partitions among threads: each travels as a message of its own, in a context of its channel's.
//!
//! A channel is what a `psend_init` and the `precv_init` that it matches have in common: the two ranks, the tag, and the how
//! manieth they are of those with the same ranks and tag.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::comm::Comm;
use super::mailbox::Pattern;
use super::payload::Sent;
use crate::error::{Error, ErrorKind, Result};
use crate::landing::Span;

/// How many channels were made to a rank under a tag, and from one.
#[derive(Debug, Default)]
pub(super) struct Channels(Mutex<HashMap<(Side, usize, i32), u64>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

/// One side of a channel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Channel {
    context: u64,
    peer: usize,
    tag: i32,
}

/// What a message says before its bytes: where they belong, and how many there are in all.
const HEADER: usize = 16;

impl Comm {
    pub(crate) fn channel(&self, side: Side, peer: usize, tag: i32) -> Channel {
        let mut channels = self
            .channels
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let number = channels.entry((side, peer, tag)).or_default();
        // The upper half of all contexts is of channels; messages of others are never there.
        let context = (1 << 63) | (self.context << 20) | (*number & 0xf_ffff);
        *number += 1;
        Channel { context, peer, tag }
    }

    /// Sends the part of the whole that begins at `start`.
    pub(crate) fn send_part(&self, channel: Channel, total: usize, start: usize, bytes: &[u8]) {
        let mut message = Vec::with_capacity(HEADER + bytes.len());
        message.extend_from_slice(&(start as u64).to_le_bytes());
        message.extend_from_slice(&(total as u64).to_le_bytes());
        message.extend_from_slice(bytes);
        self.deliver(
            channel.peer,
            channel.context,
            channel.tag,
            Sent::bytes(&message),
            None,
        );
    }

    /// Puts the next part where it belongs in `span`; where it begins and ends, or `None` if none has come.
    pub(crate) fn recv_part(
        &self,
        operation: &'static str,
        channel: Channel,
        span: Span,
        wait: bool,
    ) -> Result<Option<(usize, usize)>> {
        let pattern = Pattern {
            context: channel.context,
            source: Some(channel.peer),
            tag: Some(channel.tag),
        };
        let (world, me) = (&self.place.world, self.place.rank);
        let found = if wait {
            Some(world.receive(operation, me, &pattern, &self.members)?)
        } else {
            world.try_receive_from(operation, me, &pattern, &self.members)?
        };
        let Some(message) = found else {
            return Ok(None);
        };
        let Some((header, bytes)) = message.payload.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let number = |half: &[u8]| {
            let bytes = half.try_into().unwrap_or_default();
            usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX)
        };
        let (start, total) = (number(&header[..8]), number(&header[8..]));
        let expected = span.bytes();
        if total != expected {
            return Err(Error::new(
                ErrorKind::Length,
                operation,
                format_args!(
                    "rank {} sends {total} bytes in all, and {expected} are expected; partitions may differ, lengths not",
                    channel.peer
                ),
            ));
        }
        let part = span.part(start, bytes.len());
        part.fill(bytes);
        Ok(Some((start, start + part.bytes())))
    }
}
