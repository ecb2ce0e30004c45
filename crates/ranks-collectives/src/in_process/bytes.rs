//! Elements seen as bytes, so that moving them is compiled once and not for each type.

use bytemuck::Pod;
use ranks_comm::backend::InProcessComm as Comm;

use super::call::Call;
use crate::transfer::Transfer;

/// A [`Transfer`] whose slices and block are in bytes.
pub(super) struct Bytes<'a> {
    pub(super) send: &'a [u8],
    pub(super) recv: &'a mut [u8],
    /// The length of a block.
    pub(super) block: usize,
    pub(super) root: usize,
}

impl<'a> Bytes<'a> {
    pub(super) fn of<T: Pod>(comm: &'a Comm, transfer: Transfer<'a, T>) -> (Call<'a>, Bytes<'a>) {
        let call = Call {
            comm,
            operation: transfer.operation(),
            width: size_of::<T>(),
        };
        let block = transfer.block() * size_of::<T>();
        let root = transfer.root_rank();
        let (send, recv) = transfer.into_slices();
        (
            call,
            Bytes {
                send: bytes(send),
                recv: bytes_mut(recv),
                block,
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
