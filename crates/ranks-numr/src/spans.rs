//! Addresses and lengths as numr passes them, proven to be memory that could be.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::slice;

use crate::failure::Failure;

/// Memory of a call: where it begins, and how many bytes it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    address: usize,
    bytes: usize,
}

impl Span {
    /// `blocks` times `count` elements of `size` bytes at `address`, which the caller calls `arg`.
    pub(crate) fn of(
        arg: &'static str,
        address: u64,
        blocks: usize,
        count: usize,
        size: usize,
    ) -> Result<Self, Failure> {
        let bytes = count
            .checked_mul(size)
            .and_then(|block| block.checked_mul(blocks))
            .filter(|&bytes| isize::try_from(bytes).is_ok());
        let Some(bytes) = bytes else {
            let what = format!(
                "{blocks} times {count} elements of {size} bytes are more than memory can hold"
            );
            return Err(Failure::argument("count", what));
        };
        let inside = usize::try_from(address)
            .ok()
            .filter(|address| address.checked_add(bytes).is_some());
        let Some(address) = inside else {
            return Err(Failure::argument(
                arg,
                format!("{bytes} bytes from {address:#x} on pass the end of memory"),
            ));
        };
        if address == 0 && bytes > 0 {
            let what = format!("a null pointer to {count} elements");
            return Err(Failure::argument(arg, what));
        }
        Ok(Self { address, bytes })
    }

    pub(crate) fn bytes(self) -> usize {
        self.bytes
    }

    pub(crate) fn begin(self) -> *const c_void {
        std::ptr::with_exposed_provenance(self.address)
    }

    pub(crate) fn begin_mut(self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.address)
    }

    /// `length` bytes from `begin` on, which are no more than there are.
    ///
    /// # Safety
    /// They may be read, and nobody writes to them for as long as the slice is used.
    pub(crate) unsafe fn part<'a>(self, begin: usize, length: usize) -> &'a [u8] {
        let pointer = std::ptr::with_exposed_provenance::<u8>(self.address + begin);
        if length == 0 {
            return &[];
        }
        // SAFETY: the caller's promise; what has elements is not at address 0, which `of` has
        // checked.
        unsafe { slice::from_raw_parts(pointer, length) }
    }

    /// The same, to be written to.
    ///
    /// # Safety
    /// They may be read and written, and nobody else uses them for as long as the slice is used.
    pub(crate) unsafe fn part_mut<'a>(self, begin: usize, length: usize) -> &'a mut [u8] {
        let pointer = std::ptr::with_exposed_provenance_mut::<u8>(self.address + begin);
        if length == 0 {
            return &mut [];
        }
        // SAFETY: the caller's promise; what has elements is not at address 0, which `of` has
        // checked.
        unsafe { slice::from_raw_parts_mut(pointer, length) }
    }

    /// Refuses two that overlap, unless `part` is the `index`-th block of its length in `whole`.
    pub(crate) fn in_place_or_apart(
        arg: &'static str,
        part: Self,
        whole: Self,
        index: usize,
    ) -> Result<(), Failure> {
        let apart = part.address + part.bytes <= whole.address
            || whole.address + whole.bytes <= part.address;
        let at = part.address.checked_sub(whole.address);
        if apart || at == Some(index * part.bytes) {
            return Ok(());
        }
        Err(Failure::argument(
            arg,
            format!(
                "{} bytes at {:#x} and {} bytes at {:#x} overlap, and the shorter is not this rank's block of the longer",
                part.bytes, part.address, whole.bytes, whole.address
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_memory_can_hold_is_refused() {
        for (address, blocks, count) in [
            (8, 1, usize::MAX / 4),
            (8, usize::MAX, 2),
            (8, 3, usize::MAX / 8 / 2),
        ] {
            let refused = Span::of("ptr", address, blocks, count, 8);
            assert!(
                matches!(refused, Err(Failure::Argument { arg: "count", .. })),
                "{refused:?}"
            );
        }
        for (address, count) in [(0, 1), (u64::MAX - 7, 2)] {
            let refused = Span::of("ptr", address, 1, count, 8);
            assert!(
                matches!(refused, Err(Failure::Argument { arg: "ptr", .. })),
                "{refused:?}"
            );
        }
        assert_eq!(Span::of("ptr", 0, 4, 0, 8).unwrap().bytes(), 0);
    }

    #[test]
    fn blocks_overlap_only_where_they_belong() {
        let whole = Span::of("recv_ptr", 1000, 3, 4, 8).unwrap();
        let accepts = |address, index| {
            let part = Span::of("send_ptr", address, 1, 4, 8).unwrap();
            Span::in_place_or_apart("recv_ptr", part, whole, index).is_ok()
        };
        assert!(accepts(1000, 0) && accepts(1032, 1) && accepts(1064, 2));
        assert!(accepts(968, 1) && accepts(1096, 1), "beside it");
        assert!(!accepts(1000, 1) && !accepts(1032, 0) && !accepts(1016, 0) && !accepts(976, 2));
    }
}
