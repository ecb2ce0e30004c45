//! Elements seen as bytes, so that moving them is compiled once and not for each type.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::backend::InProcessComm as Comm;

use super::call::RankCall;
use crate::arguments::transfer::Transfer;

/// A [`Transfer`] whose slices and block are in bytes.
pub(super) struct Bytes<'a> {
    /// In place, a copy of what is sent.
    pub(super) send: Cow<'a, [u8]>,
    /// In place, empty where nothing is received.
    pub(super) recv: &'a mut [u8],
    /// The length of a block.
    pub(super) block: usize,
    pub(super) root: usize,
}

impl<'a> Bytes<'a> {
    /// In place, what is sent is those blocks of what is received that `own` says.
    pub(super) fn of<T: Pod>(
        comm: &'a Comm,
        transfer: Transfer<'a, T>,
        own: Range<usize>,
    ) -> (RankCall<'a>, Bytes<'a>) {
        let call = RankCall::of::<T>(comm, transfer.operation());
        let block = transfer.block();
        let root = transfer.root_rank();
        let (send, recv) = transfer.into_copied(own.start * block..own.end * block);
        let send = match send {
            Cow::Borrowed(send) => Cow::Borrowed(bytes(send)),
            Cow::Owned(send) => Cow::Owned(bytes(&send).to_vec()),
        };
        (
            call,
            Bytes {
                send,
                recv: bytes_mut(recv),
                block: block * size_of::<T>(),
                root,
            },
        )
    }
}

/// The bytes of a slice. Elements of size zero have none.
pub(super) fn bytes<T: Pod>(slice: &[T]) -> &[u8] {
    if size_of::<T>() == 0 {
        &[]
    } else {
        bytemuck::cast_slice(slice)
    }
}

/// The bytes of a slice, to write to.
pub(super) fn bytes_mut<T: Pod>(slice: &mut [T]) -> &mut [u8] {
    if size_of::<T>() == 0 {
        &mut []
    } else {
        bytemuck::cast_slice_mut(slice)
    }
}

/// The `index`-th block of `length` bytes.
pub(super) fn block_of(whole: &[u8], length: usize, index: usize) -> &[u8] {
    &whole[index * length..(index + 1) * length]
}

/// The `index`-th block of `length` bytes, to write to.
pub(super) fn block_mut(whole: &mut [u8], length: usize, index: usize) -> &mut [u8] {
    &mut whole[index * length..(index + 1) * length]
}
