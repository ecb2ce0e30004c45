//! The slices of one call among neighbours, after they were proven to fit it.
//!
//! As with [`Transfer`](crate::arguments::transfer::Transfer), the backends rely on what the
//! constructors prove.

use std::borrow::Cow;
use std::fmt;

use bytemuck::Pod;
use ranks_comm::{Error, ErrorKind, Neighborhood, Result};

use super::pairing::{Edge, incoming, outgoing};
use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::{Layouts, Pattern};
use crate::arguments::lengths::{Holders, one_of_each};

/// A block for each neighbour that this rank sends to, and one of each that sends to it.
pub(crate) struct Trade<'a, T, D = Cow<'a, Blocks>> {
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
    /// The number of elements of each part.
    fn counts(&self) -> &[usize];
}

impl Division for Cow<'_, Blocks> {
    fn counts(&self) -> &[usize] {
        Blocks::counts(self)
    }
}

impl Division for &Layouts {
    fn counts(&self) -> &[usize] {
        Layouts::counts(self)
    }
}

impl<'a, T> Trade<'a, T> {
    /// `send` goes to every neighbour, and `recv` is a block of each, as long as `send`.
    ///
    /// # Errors
    /// [`Length`](ErrorKind::Length) if that is not so, [`Argument`](ErrorKind::Argument) if the
    /// graph has an edge with one end.
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
        let blocks = Blocks::even(recv.len(), sources.count);
        Self::to_all(operation, around, send, (recv, Cow::Owned(blocks)))
    }

    /// `send` goes to every neighbour, and `recv` holds a block of each.
    ///
    /// # Errors
    /// As [`exchanged_into`](Self::exchanged_into).
    pub(crate) fn gathered_into(
        operation: &'static str,
        around: &'a dyn Neighborhood,
        send: &'a [T],
        (recv, blocks): (&'a mut [T], &'a Blocks),
    ) -> Result<Self> {
        Self::to_all(operation, around, send, (recv, Cow::Borrowed(blocks)))
    }

    fn to_all(
        operation: &'static str,
        around: &'a dyn Neighborhood,
        send: &'a [T],
        recv: (&'a mut [T], Cow<'a, Blocks>),
    ) -> Result<Self> {
        let neighbors = around.out_neighbors().len();
        let same = Blocks::new(&vec![send.len(); neighbors], &vec![0; neighbors])?;
        Self::proven(operation, around, (send, Cow::Owned(same)), recv)
    }

    /// `send` is a block for each neighbour and `recv` one of each, all of the same length.
    ///
    /// # Errors
    /// As [`gathered`](Self::gathered).
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
                    "send has {} elements for {to} neighbours, and recv {} from {from}; they are a block for each and one of each, \
                     all of the same length",
                    send.len(),
                    recv.len()
                ),
            ));
        }
        let send = (send, Cow::Owned(Blocks::even(send.len(), to)));
        let blocks = Blocks::even(recv.len(), from);
        Self::proven(operation, around, send, (recv, Cow::Owned(blocks)))
    }

    /// `send` holds a block for each neighbour, `recv` one of each, and what this rank sends to
    /// itself is as long as where it goes.
    ///
    /// # Errors
    /// [`Length`](ErrorKind::Length) if that is not so, [`Argument`](ErrorKind::Argument) if blocks
    /// of `recv` overlap or the graph has an edge with one end.
    pub(crate) fn exchanged_into(
        operation: &'static str,
        around: &'a dyn Neighborhood,
        (send, send_blocks): (&'a [T], &'a Blocks),
        (recv, recv_blocks): (&'a mut [T], &'a Blocks),
    ) -> Result<Self> {
        let send = (send, Cow::Borrowed(send_blocks));
        let recv = (recv, Cow::Borrowed(recv_blocks));
        Self::proven(operation, around, send, recv)
    }

    fn proven(
        operation: &'static str,
        around: &'a dyn Neighborhood,
        (send, send_blocks): (&'a [T], Cow<'a, Blocks>),
        (recv, recv_blocks): (&'a mut [T], Cow<'a, Blocks>),
    ) -> Result<Self> {
        must_be_two_sided(operation, around)?;
        send_blocks.fit(operation, dests(around), "send", send.len())?;
        recv_blocks.fit(operation, sources(around), "recv", recv.len())?;
        recv_blocks.must_be_disjoint(operation, sources(around), "recv")?;
        let trade = Self {
            operation,
            around,
            send: NeighborBlocks {
                slice: send,
                blocks: send_blocks,
            },
            recv: NeighborBlocks {
                slice: recv,
                blocks: recv_blocks,
            },
        };
        trade.fits_itself()?;
        Ok(trade)
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
        must_be_two_sided(operation, around)?;
        let pattern = Pattern::inside(operation, (dests(around), send), (sources(around), recv))?;
        let ((send, here), (recv, there)) = (pattern.send, pattern.recv);
        let trade = Self {
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
        };
        trade.fits_itself()?;
        Ok(trade)
    }
}

impl<T, D: Division> Trade<'_, T, D> {
    /// Of what this rank sends to itself it knows both ends.
    fn fits_itself(&self) -> Result<()> {
        let me = self.around.rank();
        let leaving = self.outgoing().filter(|edge| edge.to == me);
        let arriving = self.incoming().into_iter().filter(|edge| edge.from == me);
        for (sent, expected) in leaving.zip(arriving) {
            if sent.length != expected.length {
                return Err(length(
                    self.operation,
                    format_args!(
                        "block {} of send, which this rank sends to itself, has {} elements, and block {} of recv, where it \
                         arrives, {}",
                        sent.index, sent.length, expected.index, expected.length
                    ),
                ));
            }
        }
        Ok(())
    }

    /// The edges on which this rank sends, in the order of blocks.
    pub(crate) fn outgoing(&self) -> impl Iterator<Item = Edge> {
        outgoing(self.around, self.send.blocks.counts())
    }

    /// The edges on which it receives, those from one rank in the order in which that sends.
    pub(crate) fn incoming(&self) -> Vec<Edge> {
        incoming(self.around, self.recv.blocks.counts())
    }
}

fn sources(around: &dyn Neighborhood) -> Holders {
    Holders {
        count: around.in_neighbors().len(),
        name: "neighbour",
    }
}

fn dests(around: &dyn Neighborhood) -> Holders {
    Holders {
        count: around.out_neighbors().len(),
        name: "neighbour",
    }
}

fn must_be_two_sided(operation: &'static str, around: &dyn Neighborhood) -> Result<()> {
    if around.is_two_sided() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Argument,
        operation,
        "a rank of this graph has a neighbour that does not have it for a neighbour as often; \
         communication among neighbours needs a symmetric graph",
    ))
}

#[cold]
fn length(operation: &'static str, detail: fmt::Arguments<'_>) -> Error {
    Error::new(ErrorKind::Length, operation, detail)
}
