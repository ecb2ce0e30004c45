//! The slices of one collective call, after their lengths and the root were proven to fit it.
//!
//! A [`Transfer`] is made by the constructors below and in `in_place.rs`, and by nothing else. The
//! backends rely on what they prove and look at no length again.

use std::borrow::Cow;
use std::ffi::c_int;
use std::ops::Range;

use ranks_comm::Result;

use crate::arguments::blocks::Blocks;
use crate::arguments::call::Call;
use crate::arguments::lengths::{block_of, one_of_each, unequal};
use crate::arguments::root::Root;

mod in_place;

/// Proven slices. `recv` is empty on the ranks where the standard calls the receive buffer not
/// significant, and `send` is likewise. In place, one of them is `None`: what it would be is in the
/// other.
pub(crate) struct Transfer<'a, T> {
    operation: &'static str,
    send: Option<&'a [T]>,
    recv: Option<&'a mut [T]>,
    block: usize,
    root: Root,
}

impl<'a, T> Transfer<'a, T> {
    fn new(
        operation: &'static str,
        send: &'a [T],
        recv: &'a mut [T],
        block: usize,
        root: Root,
    ) -> Self {
        Transfer {
            operation,
            send: Some(send),
            recv: Some(recv),
            block,
            root,
        }
    }

    /// Both slices are one block, on every rank.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if their lengths differ.
    #[inline]
    pub(crate) fn equal(operation: &'static str, send: &'a [T], recv: &'a mut [T]) -> Result<Self> {
        if send.len() != recv.len() {
            return Err(unequal(operation, send.len(), recv.len()));
        }
        Ok(Self::new(operation, send, recv, send.len(), Root::NONE))
    }

    /// `send` is one block, and at the root `recv` is one as well.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ at the root.
    #[inline]
    pub(crate) fn to_root(
        call: Call<'_>,
        send: &'a [T],
        recv: &'a mut [T],
        root: usize,
    ) -> Result<Self> {
        let (root, is_here) = call.root(root)?;
        if !is_here {
            return Ok(Self::only_sent(call.operation, send, root));
        }
        let equal = Self::equal(call.operation, send, recv)?;
        Ok(Transfer { root, ..equal })
    }

    /// `send` is one block, and nothing is received here.
    #[inline]
    fn only_sent(operation: &'static str, send: &'a [T], root: Root) -> Self {
        Self::new(operation, send, &mut [], send.len(), root)
    }

    /// `recv` is one block, and nothing is sent here.
    #[inline]
    fn only_received(operation: &'static str, recv: &'a mut [T], root: Root) -> Self {
        let block = recv.len();
        Self::new(operation, &[], recv, block, root)
    }

    /// `data` is the block that the root sends and the others receive.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank.
    #[inline]
    pub(crate) fn broadcast(call: Call<'_>, data: &'a mut [T], root: usize) -> Result<Self> {
        let (root, _) = call.root(root)?;
        Ok(Self::only_received(call.operation, data, root))
    }

    /// `send` is one block, and `recv` one block of every rank.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if that is not so.
    #[inline]
    pub(crate) fn gathered(call: Call<'_>, send: &'a [T], recv: &'a mut [T]) -> Result<Self> {
        let (block, all) = (("send", send.len()), ("recv", recv.len()));
        one_of_each(call.operation, call.comm, block, all)?;
        Ok(Self::new(
            call.operation,
            send,
            recv,
            send.len(),
            Root::NONE,
        ))
    }

    /// `send` is one block, and at the root `recv` is one block of every rank.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root do not fit.
    #[inline]
    pub(crate) fn gathered_at(
        call: Call<'_>,
        send: &'a [T],
        recv: &'a mut [T],
        root: usize,
    ) -> Result<Self> {
        let (root, is_here) = call.root(root)?;
        if !is_here {
            return Ok(Self::only_sent(call.operation, send, root));
        }
        let gathered = Self::gathered(call, send, recv)?;
        Ok(Transfer { root, ..gathered })
    }

    /// `recv` is one block, and `send` one block for every rank.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if that is not so.
    #[inline]
    pub(crate) fn scattered(call: Call<'_>, send: &'a [T], recv: &'a mut [T]) -> Result<Self> {
        let (block, all) = (("recv", recv.len()), ("send", send.len()));
        one_of_each(call.operation, call.comm, block, all)?;
        let block = recv.len();
        Ok(Self::new(call.operation, send, recv, block, Root::NONE))
    }

    /// `recv` is one block, and at the root `send` is one block for every rank.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root do not fit.
    #[inline]
    pub(crate) fn scattered_from(
        call: Call<'_>,
        send: &'a [T],
        recv: &'a mut [T],
        root: usize,
    ) -> Result<Self> {
        let (root, is_here) = call.root(root)?;
        if !is_here {
            return Ok(Self::only_received(call.operation, recv, root));
        }
        let scattered = Self::scattered(call, send, recv)?;
        Ok(Transfer { root, ..scattered })
    }

    /// Both slices are one block for every rank.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if their lengths differ or are no multiple of the
    /// number of ranks.
    #[inline]
    pub(crate) fn exchanged(call: Call<'_>, send: &'a [T], recv: &'a mut [T]) -> Result<Self> {
        let equal = Self::equal(call.operation, send, recv)?;
        let block = block_of(call.operation, call.comm, equal.block)?;
        Ok(Transfer { block, ..equal })
    }

    /// `send` is a block for each rank, and `recv` the block of this one.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if that is not so,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if the blocks do not lie one after the other.
    #[inline]
    pub(crate) fn dealt(
        call: Call<'_>,
        send: &'a [T],
        recv: &'a mut [T],
        blocks: &Blocks,
    ) -> Result<Self> {
        blocks.fit(call.operation, call.comm, "send", send.len())?;
        blocks.must_be_packed(call.operation)?;
        blocks.own_is(call, "recv", recv.len())?;
        let block = recv.len();
        Ok(Self::new(call.operation, send, recv, block, Root::NONE))
    }

    /// The C name of the operation.
    pub(crate) fn operation(&self) -> &'static str {
        self.operation
    }

    /// Elements that one rank contributes, or gets from one rank.
    #[inline]
    pub(crate) fn block(&self) -> usize {
        self.block
    }

    /// The root as MPI writes it; 0 where there is none.
    #[inline]
    pub(crate) fn root(&self) -> c_int {
        self.root.number
    }

    /// The root as Rust writes it; 0 where there is none.
    #[inline]
    pub(crate) fn root_rank(&self) -> usize {
        self.root.rank
    }

    /// Returns `true` if `recv` plays the part of `send`.
    pub(crate) fn is_in_place(&self) -> bool {
        self.send.is_none()
    }

    /// Calls with the same not in place, where the one slice is one block: a copy of it is what is
    /// sent.
    pub(crate) fn with_copy<R>(self, call: impl FnOnce(Transfer<'_, T>) -> R) -> R
    where
        T: Copy,
    {
        let copy = self.recv.as_deref().unwrap_or_default().to_vec();
        call(Transfer {
            send: Some(&copy),
            ..self
        })
    }

    /// The same in pieces of at most `longest` elements, for operations that go element by element.
    ///
    /// Both slices must be one block, or `recv` empty, or `send` in place.
    pub(crate) fn pieces(self, longest: usize) -> impl Iterator<Item = Transfer<'a, T>> {
        let Transfer {
            operation,
            send,
            recv,
            block,
            root,
        } = self;
        let mut rest = recv.unwrap_or_default();
        (0..block).step_by(longest).map(move |start| {
            let length = longest.min(block - start);
            let recv = std::mem::take(&mut rest);
            let (recv, after) = recv.split_at_mut(length.min(recv.len()));
            rest = after;
            Transfer {
                operation,
                block: length,
                send: send.map(|send| &send[start..start + length]),
                recv: Some(recv),
                root,
            }
        })
    }

    /// The same as a reduction to each rank of the block for it, where `send` (or in place `recv`)
    /// is one for each and `me` is this rank. All of them are done, whatever becomes of one.
    ///
    /// # Errors
    /// The first.
    pub(crate) fn reductions(
        self,
        me: usize,
        blocks: &Blocks,
        mut each: impl FnMut(Transfer<'_, T>) -> Result<()>,
    ) -> Result<()>
    where
        T: Copy,
    {
        let operation = self.operation;
        let (send, recv) = self.into_copied(0..blocks.end());
        let mut outcome = Ok(());
        for (rank, number) in (0..blocks.len()).zip(0..) {
            let block = blocks.range(rank);
            let recv = if rank == me {
                &mut recv[..block.len()]
            } else {
                &mut []
            };
            let (length, root) = (block.len(), Root { rank, number });
            let done = each(Transfer::new(operation, &send[block], recv, length, root));
            outcome = outcome.and(done);
        }
        outcome
    }

    /// Replaces the slice that is sent; the other stays.
    pub(crate) fn sending(self, send: &'a [T]) -> Self {
        let send = Some(send);
        Transfer { send, ..self }
    }

    /// Both slices, to be put elsewhere.
    pub(crate) fn slices_mut(&mut self) -> (Option<&mut &'a [T]>, Option<&mut &'a mut [T]>) {
        (self.send.as_mut(), self.recv.as_mut())
    }

    /// The two slices; `None` for the one whose part the other plays.
    #[inline]
    pub(crate) fn into_slices(self) -> (Option<&'a [T]>, Option<&'a mut [T]>) {
        (self.send, self.recv)
    }

    /// The two slices for a backend that knows no other way than from one to the other: in place, a
    /// copy of `own` of what is received into stands for what is sent, and nothing for what is
    /// received.
    pub(crate) fn into_copied(self, own: Range<usize>) -> (Cow<'a, [T]>, &'a mut [T])
    where
        T: Copy,
    {
        let recv = self.recv.unwrap_or_default();
        let send = match self.send {
            Some(send) => Cow::Borrowed(send),
            None => Cow::Owned(recv[own].to_vec()),
        };
        (send, recv)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_whole_in_order() {
        let send = [1, 2, 3, 4, 5];
        let mut recv = [10, 20, 30, 40, 50];
        let whole = Transfer::equal("MPI_Allreduce", &send, &mut recv).unwrap();
        let pieces: Vec<_> = whole
            .pieces(2)
            .map(|piece| (piece.block(), piece.into_slices()))
            .collect();
        assert_eq!(pieces.len(), 3);
        assert_eq!(pieces[0], (2, (Some(&[1, 2][..]), Some(&mut [10, 20][..]))));
        assert_eq!(pieces[2], (1, (Some(&[5][..]), Some(&mut [50][..]))));
    }

    #[test]
    fn pieces_of_a_rank_that_receives_nothing_have_nothing_to_receive_into() {
        let whole = Transfer::only_sent("MPI_Reduce", &[1, 2, 3], Root::NONE);
        let blocks: Vec<_> = whole
            .pieces(2)
            .map(|piece| (piece.block(), piece.into_slices().1.map(|recv| recv.len())))
            .collect();
        assert_eq!(blocks, [(2, Some(0)), (1, Some(0))]);
    }

    #[test]
    fn pieces_in_place_stay_in_place() {
        let mut data = [1, 2, 3];
        let pieces: Vec<_> = Transfer::in_place("MPI_Scan", &mut data)
            .pieces(2)
            .map(Transfer::into_slices)
            .collect();
        assert_eq!(
            pieces,
            [(None, Some(&mut [1, 2][..])), (None, Some(&mut [3][..]))]
        );
    }
}
