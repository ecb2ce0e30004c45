//! Partitioned communication among threads: each partition is a message of its own, in a context of
//! its channel.
//!
//! A channel connects a `psend_init` with the `precv_init` that it matches: it is the two ranks,
//! the tag, and the number of the pair among those with the same ranks and tag.

use ranks_launch::Count;

use super::channels::Direction;
use super::comm::Comm;
use super::contexts;
use super::mailbox::Pattern;
use super::payload::Sent;
use crate::data::raw_slice::{Element, RawSlice};
use crate::result::{Error, ErrorKind, Result};

/// One side of a channel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Channel {
    context: u64,
    peer: usize,
    tag: i32,
    /// The type of the elements on this side.
    element: Element,
}

/// The length of the header of a message: the position of its bytes, and their total number.
const HEADER: usize = 16;

/// A message of the program as its receiver knows it: of a partition the context of its
/// communicator, and its own bytes.
pub(super) fn as_sent(mut pattern: Pattern, bytes: usize) -> (Pattern, usize, &'static str) {
    if !contexts::is_of_channel(pattern.context) {
        return (pattern, bytes, "");
    }
    pattern.context = contexts::of_communicator(pattern.context);
    (pattern, bytes.saturating_sub(HEADER), "a partition of ")
}

impl Comm {
    /// Makes one side of a channel, of which no other one has the context.
    pub(crate) fn channel(
        &self,
        operation: &'static str,
        direction: Direction,
        peer: usize,
        tag: i32,
        element: Element,
    ) -> Result<Channel> {
        let number = self.channels.next(direction, peer, tag);
        let context = contexts::of_channel(self.context, number).ok_or_else(|| {
            Error::new(
                ErrorKind::Library,
                operation,
                format_args!(
                    "too many were made on this communicator with rank {peer} and tag {tag}; start one again, or \
                     duplicate the communicator"
                ),
            )
        })?;
        Ok(Channel {
            context,
            peer,
            tag,
            element,
        })
    }

    /// Sends the part of the whole that starts at `start`.
    pub(crate) fn send_part(
        &self,
        channel: Channel,
        total: usize,
        start: usize,
        bytes: &[u8],
    ) -> Result<()> {
        let mut message = Vec::with_capacity(HEADER + bytes.len());
        message.extend_from_slice(&(start as u64).to_le_bytes());
        message.extend_from_slice(&(total as u64).to_le_bytes());
        message.extend_from_slice(bytes);
        let sent = Sent::with(&message, channel.element);
        self.deliver(
            "MPI_Pready",
            channel.peer,
            channel.context,
            channel.tag,
            sent,
            None,
        )
    }

    /// Copies the next part to its place in `span`; returns its start and end, or `None` if none
    /// has arrived.
    pub(crate) fn recv_part(
        &self,
        operation: &'static str,
        channel: Channel,
        span: RawSlice,
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
        let Some((header, bytes)) = message.payload.bytes().split_first_chunk::<HEADER>() else {
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
                    "rank {} sends {} in all, and this rank expects {expected}; partitions may differ, lengths not",
                    channel.peer,
                    Count(total, "byte")
                ),
            ));
        }
        channel
            .element
            .takes(operation, bytes.len(), message.element)
            .map_err(|error| error.of_message(&message.status()))?;
        let part = span.part(start, bytes.len());
        part.fill(bytes);
        Ok(Some((start, start + part.bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_told_of_as_it_was_sent() {
        let pattern = |context| Pattern {
            context,
            source: Some(1),
            tag: Some(2),
        };
        let of = |context| as_sent(pattern(context), HEADER + 4);
        assert_eq!(of(6), (pattern(6), HEADER + 4, ""));
        let channel = contexts::of_channel(6, 3).unwrap();
        assert_eq!(of(channel), (pattern(6), 4, "a partition of "));
    }
}
