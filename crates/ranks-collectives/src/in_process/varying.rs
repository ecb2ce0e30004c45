//! Blocks of different lengths, in bytes.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Pod;

use super::bytes::{bytes, bytes_mut};
use crate::arguments::blocks::Blocks;
use crate::arguments::varying::Divided;

/// The division of a slice, in bytes.
pub(super) struct Places<'a> {
    blocks: &'a Blocks,
    width: usize,
}

impl<'a> Places<'a> {
    pub(super) fn of<T>(blocks: &'a Blocks) -> Self {
        Self {
            blocks,
            width: size_of::<T>(),
        }
    }

    /// The place of the block of `rank`.
    pub(super) fn place(&self, rank: usize) -> Range<usize> {
        let place = self.blocks.range(rank);
        place.start * self.width..place.end * self.width
    }
}

/// The slice that is received into, in bytes; empty where it is not significant.
pub(super) fn received<'a, T: Pod>(recv: Divided<'a, &'a mut [T]>) -> (&'a mut [u8], Places<'a>) {
    let slice = bytes_mut(recv.slice.unwrap_or_default());
    (slice, Places::of::<T>(recv.blocks))
}

/// The slice that is sent, in bytes; in place, a copy of `own` of what is received into.
pub(super) fn sent<'a, T: Pod>(
    send: Option<&'a [T]>,
    recv: &[u8],
    own: Range<usize>,
) -> Cow<'a, [u8]> {
    match send {
        Some(send) => Cow::Borrowed(bytes(send)),
        None => Cow::Owned(recv[own].to_vec()),
    }
}
