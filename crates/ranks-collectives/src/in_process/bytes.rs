//! Elements seen as bytes, so that moving them is compiled once and not for each type.

use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::backend::RawSlice;

use crate::arguments::neighbors::{Parts, Trade};
use crate::arguments::proven::Movable;
use crate::arguments::transfer::Transfer;
use crate::arguments::varying::{Exchange, Gathering, Scattering};
use crate::in_flight::stable::Stable;

/// The slices of a call in bytes, and where the blocks in them lie that go to ranks and come from
/// them.
pub(crate) struct Bytes<'a> {
    pub(super) operation: &'static str,
    /// `None` in place: what is sent is in `recv`.
    pub(super) send: Option<&'a [u8]>,
    /// Empty where nothing is received, or the root keeps its block in `send`.
    pub(super) recv: &'a mut [u8],
    pub(super) here: Places<'a>,
    pub(super) there: Places<'a>,
    pub(super) root: usize,
}

impl Bytes<'_> {
    /// Copies the block that rank `me` has for itself, unless it is in its place already.
    pub(super) fn copy_own(&mut self, me: usize) {
        if let Some(send) = self.send {
            self.recv[self.there.of(me)].copy_from_slice(&send[self.here.of(me)]);
        }
    }
}

/// The division of a slice, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    parts: Parts<'a>,
    width: usize,
}

impl Places<'_> {
    /// The place of the block of a rank, or of a neighbour.
    pub(super) fn of(&self, index: usize) -> Range<usize> {
        let place = self.parts.place(index);
        place.start * self.width..place.end * self.width
    }
}

/// Proven slices that are seen as [`Bytes`], which are of their memory alone.
pub(crate) trait InBytes<'a>: Movable<'a> {
    fn in_bytes(self) -> Bytes<'a>;
}

impl<'a, P: InBytes<'a>> Stable<P> {
    pub(super) fn in_bytes(self) -> Stable<Bytes<'a>> {
        self.map(|proven| proven.in_bytes())
    }
}

impl Stable<Bytes<'_>> {
    /// The memory that is received into, to be written to until the operation is over.
    pub(super) fn into_span(self) -> RawSlice {
        self.map(|bytes| bytes.recv).into_span()
    }
}

/// Slices with their divisions.
fn in_bytes<'a, T: Pod>(
    operation: &'static str,
    (send, here): (Option<&'a [T]>, Parts<'a>),
    (recv, there): (Option<&'a mut [T]>, Parts<'a>),
    root: usize,
) -> Bytes<'a> {
    let [here, there] = [here, there].map(|parts| Places {
        parts,
        width: size_of::<T>(),
    });
    Bytes {
        operation,
        send: send.map(bytes),
        recv: bytes_mut(recv.unwrap_or_default()),
        here,
        there,
        root,
    }
}

impl<'a, T: Pod> InBytes<'a> for Transfer<'a, T> {
    fn in_bytes(self) -> Bytes<'a> {
        let (operation, root) = (self.operation(), self.root_rank());
        let parts = Parts::Even(self.block());
        let (send, recv) = self.into_slices();
        in_bytes(operation, (send, parts), (recv, parts), root)
    }
}

impl<'a, T: Pod> InBytes<'a> for Gathering<'a, T> {
    fn in_bytes(self) -> Bytes<'a> {
        let parts = Parts::Blocks(self.recv.blocks);
        let (send, recv) = ((self.send, parts), (self.recv.slice, parts));
        in_bytes(self.operation, send, recv, self.root.rank)
    }
}

impl<'a, T: Pod> InBytes<'a> for Scattering<'a, T> {
    fn in_bytes(self) -> Bytes<'a> {
        let parts = Parts::Blocks(self.send.blocks);
        let (send, recv) = ((self.send.slice, parts), (self.recv, parts));
        in_bytes(self.operation, send, recv, self.root.rank)
    }
}

impl<'a, T: Pod> InBytes<'a> for Exchange<'a, T> {
    fn in_bytes(self) -> Bytes<'a> {
        let [here, there] = [self.send.blocks, self.recv.blocks].map(Parts::Blocks);
        let (send, recv) = ((self.send.slice, here), (self.recv.slice, there));
        in_bytes(self.operation, send, recv, 0)
    }
}

impl<'a, T: Pod> InBytes<'a> for Trade<'a, T> {
    fn in_bytes(self) -> Bytes<'a> {
        let send = (Some(self.send.slice), self.send.blocks);
        let recv = (Some(self.recv.slice), self.recv.blocks);
        in_bytes(self.operation, send, recv, 0)
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

/// The `index`-th block of `length` bytes, to write to.
pub(super) fn block_mut(whole: &mut [u8], length: usize, index: usize) -> &mut [u8] {
    &mut whole[index * length..(index + 1) * length]
}
