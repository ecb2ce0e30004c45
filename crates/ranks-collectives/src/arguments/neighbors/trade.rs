//! The slices of one call among neighbours, after they were proven to fit it.
//!
//! As with [`Transfer`](crate::arguments::transfer::Transfer), the backends rely on what the
//! constructors prove.

use std::fmt;
use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::{Error, ErrorKind, Neighborhood, Result};
use ranks_launch::Count;

use super::pairing::{Edge, incoming, outgoing};
use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::{Layouts, Pattern};
use crate::arguments::lengths::{Holders, one_of_each};

/// The block of each neighbour in a slice.
#[derive(Clone, Copy)]
pub(crate) enum Parts<'a> {
    /// The whole slice, of that length, is the block of each.
    Whole(usize),
    /// Blocks of that length, one after the other.
    Even(usize),
    Blocks(&'a Blocks),
}

impl Parts<'_> {
    pub(crate) fn place(self, index: usize) -> Range<usize> {
        match self {
            Self::Whole(length) => 0..length,
            Self::Even(length) => index * length..(index + 1) * length,
            Self::Blocks(blocks) => blocks.range(index),
        }
    }
}

/// A block for each neighbour that this rank sends to, and one of each that sends to it.
pub(crate) struct Trade<'a, T, D = Parts<'a>> {
    pub(crate) operation: &'static str,
    pub(crate) around: &'a dyn Neighborhood,
    pub(crate) send: NeighborBlocks<&'a [T], D>,
    pub(crate) recv: NeighborBlocks<&'a mut [T], D>,
}

/// A slice, and the block of it that belongs to each neighbour.
pub(crate) struct NeighborBlocks<S, D> {
    pub(crate) slice: S,
    pub(crate) blocks: D,
}

/// The division of a slice among neighbours.
pub(crate) trait Division {
    /// The number of elements of the part of neighbour `index`.
    fn length(&self, index: usize) -> usize;

    /// Returns true if an `int` cannot say a count or a place, in items, of which an element is
    /// `items`.
    fn are_large(&self, items: usize) -> bool {
        let _ = items;
        false
    }
}

impl Division for Parts<'_> {
    #[inline(always)]
    fn length(&self, index: usize) -> usize {
        match self {
            Self::Whole(length) | Self::Even(length) => *length,
            Self::Blocks(blocks) => blocks.counts()[index],
        }
    }

    fn are_large(&self, items: usize) -> bool {
        matches!(self, Self::Blocks(blocks) if blocks.ints(items).is_none())
    }
}

impl Division for &Layouts {
    fn length(&self, index: usize) -> usize {
        self.counts()[index]
    }
}

impl<'a, T> Trade<'a, T> {
    /// `send` goes to every neighbour, and `recv` is a block of each, as long as `send`.
    ///
    /// # Errors
    /// [`Length`](ErrorKind::Length) if that is not so, [`Argument`](ErrorKind::Argument) if the
    /// graph has an edge with one end.
    #[inline(always)]
    pub(crate) fn gathered(
        operation: &'static str,
        around: &'a dyn Neighborhood,
        send: &'a [T],
        recv: &'a mut [T],
    ) -> Result<Self> {
        let sources = sources(around);
        one_of_each(
            operation,
            sources,
            ("send", send.len()),
            ("recv", recv.len()),
        )?;
        let recv = (recv, Parts::Even(send.len()));
        Self::proven(operation, around, (send, Parts::Whole(send.len())), recv)
    }

    /// `send` goes to every neighbour, and `recv` holds a block of each.
    ///
    /// # Errors
    /// As [`exchanged_into`](Self::exchanged_into).
    #[inline(always)]
    pub(crate) fn gathered_into(
        operation: &'static str,
        around: &'a dyn Neighborhood,
        send: &'a [T],
        (recv, blocks): (&'a mut [T], &'a Blocks),
    ) -> Result<Self> {
        received_in(blocks, operation, around, recv.len())?;
        let send = (send, Parts::Whole(send.len()));
        Self::fitting_itself(operation, around, send, (recv, Parts::Blocks(blocks)))
    }

    /// `send` is a block for each neighbour and `recv` one of each, all of the same length.
    ///
    /// # Errors
    /// As [`gathered`](Self::gathered).
    #[inline(always)]
    pub(crate) fn exchanged(
        operation: &'static str,
        around: &'a dyn Neighborhood,
        send: &'a [T],
        recv: &'a mut [T],
    ) -> Result<Self> {
        let (to, from) = (dests(around).count, sources(around).count);
        let block = send.len().checked_div(to);
        let block = block.or(recv.len().checked_div(from)).unwrap_or(0);
        let fits = |length: usize, count: usize| block.checked_mul(count) == Some(length);
        if !fits(send.len(), to) || !fits(recv.len(), from) {
            return Err(length(
                operation,
                format_args!(
                    "send has {} for {}, and recv {} from {from}; they are a block for each and one of each, \
                     all of the same length",
                    Count(send.len(), "element"),
                    Count(to, "neighbour"),
                    recv.len()
                ),
            ));
        }
        let parts = Parts::Even(block);
        Self::proven(operation, around, (send, parts), (recv, parts))
    }

    /// `send` holds a block for each neighbour, `recv` one of each, and what this rank sends to
    /// itself is as long as where it goes.
    ///
    /// # Errors
    /// [`Length`](ErrorKind::Length) if that is not so, [`Argument`](ErrorKind::Argument) if blocks
    /// of `recv` overlap or the graph has an edge with one end.
    #[inline(always)]
    pub(crate) fn exchanged_into(
        operation: &'static str,
        around: &'a dyn Neighborhood,
        (send, send_blocks): (&'a [T], &'a Blocks),
        (recv, recv_blocks): (&'a mut [T], &'a Blocks),
    ) -> Result<Self> {
        send_blocks.fit(operation, dests(around), "send", send.len())?;
        received_in(recv_blocks, operation, around, recv.len())?;
        let send = (send, Parts::Blocks(send_blocks));
        Self::fitting_itself(operation, around, send, (recv, Parts::Blocks(recv_blocks)))
    }
}

impl<'a, T: Pod> Trade<'a, T, &'a Layouts> {
    /// Elements that the layouts take of `send` go to the neighbours, those that they take of
    /// `recv` come from them, and what this rank sends to itself is as long as where it goes.
    ///
    /// # Errors
    /// As [`exchanged_into`](Trade::exchanged_into).
    pub(crate) fn laid_out(
        operation: &'static str,
        around: &'a dyn Neighborhood,
        send: (&'a [T], &'a Layouts),
        recv: (&'a mut [T], &'a Layouts),
    ) -> Result<Self> {
        let pattern = Pattern::inside(operation, (dests(around), send), (sources(around), recv))?;
        Self::fitting_itself(operation, around, pattern.send, pattern.recv)
    }
}

impl<'a, T, D: Division> Trade<'a, T, D> {
    /// `send` has a part for each neighbour, and `recv` one of each.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) if the graph has an edge with one end.
    #[inline(always)]
    fn proven(
        operation: &'static str,
        around: &'a dyn Neighborhood,
        (send, here): (&'a [T], D),
        (recv, there): (&'a mut [T], D),
    ) -> Result<Self> {
        if !around.is_two_sided() {
            return Err(one_sided(operation));
        }
        Ok(Self {
            operation,
            around,
            send: NeighborBlocks {
                slice: send,
                blocks: here,
            },
            recv: NeighborBlocks {
                slice: recv,
                blocks: there,
            },
        })
    }

    /// The same where not all parts are of one length: of what this rank sends to itself it knows
    /// both ends.
    ///
    /// # Errors
    /// [`Length`](ErrorKind::Length) if they differ; as [`proven`](Self::proven).
    #[inline(always)]
    fn fitting_itself(
        operation: &'static str,
        around: &'a dyn Neighborhood,
        send: (&'a [T], D),
        recv: (&'a mut [T], D),
    ) -> Result<Self> {
        let (trade, me) = (Self::proven(operation, around, send, recv)?, around.rank());
        let leaving = trade.outgoing().filter(|edge| edge.to == me);
        let arriving = trade.incoming().filter(|edge| edge.from == me);
        for (sent, expected) in leaving.zip(arriving) {
            if sent.length != expected.length {
                let (sent, expected) =
                    ((sent.index, sent.length), (expected.index, expected.length));
                return Err(differ(operation, sent, expected));
            }
        }
        Ok(trade)
    }

    /// The edges on which this rank sends, in the order of blocks.
    #[inline(always)]
    pub(crate) fn outgoing(&self) -> impl Iterator<Item = Edge> {
        outgoing(self.around, |index| self.send.blocks.length(index))
    }

    /// The edges on which it receives, those from one rank in the order in which that sends.
    #[inline(always)]
    pub(crate) fn incoming(&self) -> impl Iterator<Item = Edge> {
        incoming(self.around, |index| self.recv.blocks.length(index))
    }
}

/// That `blocks` divide what is received, of that length, among the neighbours.
#[inline(always)]
fn received_in(
    blocks: &Blocks,
    operation: &'static str,
    around: &dyn Neighborhood,
    length: usize,
) -> Result<()> {
    blocks.fit(operation, sources(around), "recv", length)?;
    blocks.must_be_disjoint(operation, sources(around), "recv")
}

#[inline(always)]
fn sources(around: &dyn Neighborhood) -> Holders {
    Holders {
        count: around.in_neighbors().len(),
        name: "neighbour",
    }
}

#[inline(always)]
fn dests(around: &dyn Neighborhood) -> Holders {
    Holders {
        count: around.out_neighbors().len(),
        name: "neighbour",
    }
}

#[cold]
fn one_sided(operation: &'static str) -> Error {
    Error::new(
        ErrorKind::Argument,
        operation,
        "a rank of this graph has a neighbour that does not have it for a neighbour as often; \
         communication among neighbours needs a symmetric graph",
    )
}

/// The error of two blocks of those numbers and lengths.
#[cold]
fn differ(operation: &'static str, sent: (usize, usize), expected: (usize, usize)) -> Error {
    length(
        operation,
        format_args!(
            "block {} of send, which this rank sends to itself, has {}, and block {} of recv, where it arrives, {}",
            sent.0,
            Count(sent.1, "element"),
            expected.0,
            expected.1
        ),
    )
}

#[cold]
fn length(operation: &'static str, detail: fmt::Arguments<'_>) -> Error {
    Error::new(ErrorKind::Length, operation, detail)
}
