//! The memory of a buffer: its allocation, and the elements that are initialised.
//!
//! # Safety
//!
//! This module keeps four facts about a [`Memory`], and the rest of the crate has no way to break
//! them:
//!
//! * `start` is aligned for `T` and never dangles while there is room: `capacity` elements from
//!   there on belong to the block at `base`, which this value alone owns.
//! * The block was allocated with the layout that [`Block::of`] gives for `capacity`, and is freed
//!   once, with the same.
//! * The first `length` elements are initialised, and `length` is no more than `capacity`.
//! * Elements of size zero, and none at all, have no block: `start` dangles, aligned.
//!
//! `T` is [`Pod`]: nothing is to be dropped, and any bytes are a value.
#![allow(unsafe_code)]

use std::alloc::{Layout, LayoutError, alloc, alloc_zeroed, dealloc};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use crate::data::element::Pod;

/// The alignment of elements: a cache line.
pub(super) const LINE: usize = 64;

/// The size of a huge page, and the alignment of elements from so many bytes on.
pub(super) const HUGE: usize = 2 << 20;

/// Memory for elements, of which the first are initialised.
pub(crate) struct Memory<T> {
    start: NonNull<T>,
    length: usize,
    capacity: usize,
    base: NonNull<u8>,
}

/// The reason why an allocation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoMemory {
    #[error("that is more than the address space holds")]
    TooMuch,
    #[error("the allocator has no {} bytes", .0.size())]
    Refused(Layout),
}

/// The layout that is requested of the allocator; the elements start at the first multiple of
/// `align` in it.
#[derive(Debug, Clone, Copy)]
struct Block {
    layout: Layout,
    align: usize,
}

impl Block {
    /// The block of elements of that layout; `None` if they take no memory.
    ///
    /// It is requested with room to find the alignment in it, because allocators work best with
    /// small alignments: they keep small blocks for the next request, and zeroed memory comes
    /// untouched from the system.
    fn of(elements: Result<Layout, LayoutError>) -> Result<Option<Self>, NoMemory> {
        const SMALL: usize = align_of::<u128>();
        let elements = elements.map_err(|_| NoMemory::TooMuch)?;
        let bytes = elements.size();
        if bytes == 0 {
            return Ok(None);
        }
        let best = if bytes < HUGE { LINE } else { HUGE };
        let align = best.max(elements.align());
        let size = bytes.checked_add(align - SMALL).ok_or(NoMemory::TooMuch)?;
        let layout = Layout::from_size_align(size, SMALL).map_err(|_| NoMemory::TooMuch)?;
        Ok(Some(Self { layout, align }))
    }

    /// Allocates it by a function of [`std::alloc`]. Returns its base, and the start of elements of
    /// so many `bytes` in it.
    fn allocate(
        self,
        bytes: usize,
        allocator: unsafe fn(Layout) -> *mut u8,
    ) -> Result<[NonNull<u8>; 2], NoMemory> {
        // SAFETY: such a function asks for a size that is not zero, and `Block::of` gives no other.
        let base = unsafe { allocator(self.layout) };
        let base = NonNull::new(base).ok_or(NoMemory::Refused(self.layout))?;
        let address = base.addr().get();
        let skipped = address.next_multiple_of(self.align) - address;
        // SAFETY: of an address that is aligned as the layout is, no more is skipped than what the
        // block is longer than the elements.
        let start = unsafe { base.add(skipped) };
        if bytes >= HUGE {
            advise_huge_pages(start, bytes);
        }
        Ok([base, start])
    }
}

impl<T: Pod> Memory<T> {
    /// The number of initialised elements.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// No capacity and no allocation.
    pub(crate) const fn new() -> Self {
        let capacity = if size_of::<T>() == 0 { usize::MAX } else { 0 };
        Self {
            start: NonNull::dangling(),
            length: 0,
            capacity,
            base: NonNull::dangling(),
        }
    }

    /// Memory for `capacity` elements, none of which is initialised.
    pub(crate) fn with_room(capacity: usize) -> Result<Self, NoMemory> {
        Self::allocate(capacity, alloc)
    }

    /// `length` elements of zeros.
    pub(crate) fn zeroed(length: usize) -> Result<Self, NoMemory> {
        let mut memory = Self::allocate(length, alloc_zeroed)?;
        // The block holds zeros only, and zeros are a value of `T` (`Zeroable`).
        memory.length = length;
        Ok(memory)
    }

    fn allocate(
        capacity: usize,
        allocator: unsafe fn(Layout) -> *mut u8,
    ) -> Result<Self, NoMemory> {
        let Some(block) = Block::of(Layout::array::<T>(capacity))? else {
            return Ok(Self::new());
        };
        let [base, start] = block.allocate(capacity * size_of::<T>(), allocator)?;
        Ok(Self {
            start: start.cast(),
            length: 0,
            capacity,
            base,
        })
    }

    /// Memory with `length` elements, each the result of `value` for its index.
    pub(super) fn from_fn(
        length: usize,
        mut value: impl FnMut(usize) -> T,
    ) -> Result<Self, NoMemory> {
        let mut memory = Self::with_room(length)?;
        for (index, place) in memory.spare()[..length].iter_mut().enumerate() {
            place.write(value(index));
        }
        // Every place was written by the loop.
        memory.length = length;
        Ok(memory)
    }

    /// A copy of `values`.
    pub(crate) fn copy_of(values: &[T]) -> Result<Self, NoMemory> {
        let mut memory = Self::with_room(values.len())?;
        let start = memory.start.as_ptr();
        // SAFETY: there is room for as many, which nobody else knows of yet.
        unsafe { start.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        memory.length = values.len();
        Ok(memory)
    }

    /// Memory with `length` elements whose bytes are those of `bytes`, which must be exactly as
    /// many.
    pub(crate) fn of_bytes(length: usize, bytes: &[u8]) -> Result<Self, NoMemory> {
        assert_eq!(Some(bytes.len()), length.checked_mul(size_of::<T>()));
        let mut memory = Self::with_room(length)?;
        let start = memory.start.cast::<u8>().as_ptr();
        // SAFETY: there is room for `length` elements, which are as many bytes; nobody else knows
        // of it yet.
        unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        // Any bytes are a value of `T` (`Pod`).
        memory.length = length;
        Ok(memory)
    }

    /// Appends `value`; the capacity must allow it.
    #[inline]
    pub(super) fn push(&mut self, value: T) {
        assert!(self.length < self.capacity);
        // SAFETY: this place is in the block, as just compared.
        let place = unsafe { self.start.add(self.length) };
        // SAFETY: the place is aligned, ours, and holds nothing that is to be dropped.
        unsafe { place.write(value) };
        self.length += 1;
    }

    /// The capacity that is not initialised yet.
    pub(crate) fn spare(&mut self) -> &mut [MaybeUninit<T>] {
        // SAFETY: `length` is no more than `capacity`.
        let spare = unsafe { self.start.add(self.length) }.cast();
        // SAFETY: so many elements belong to the block from there on, and may hold anything; `self`
        // is borrowed.
        unsafe { slice::from_raw_parts_mut(spare.as_ptr(), self.capacity - self.length) }
    }

    /// Marks the first `length` elements as initialised.
    ///
    /// # Safety
    /// There is room for them, and all of them were written.
    pub(crate) unsafe fn set_length(&mut self, length: usize) {
        debug_assert!(length <= self.capacity, "more than there is room for");
        self.length = length;
    }

    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[T] {
        // SAFETY: `length` elements are initialised from `start` on; `self` is borrowed.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    #[inline(always)]
    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: `length` elements are initialised from `start` on; `self` is borrowed for
        // writing.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        // The layout was valid when the block was allocated, so it is now.
        if let Ok(Some(block)) = Block::of(Layout::array::<T>(self.capacity)) {
            // SAFETY: the block at `base` was allocated with this layout and is ours (see the
            // module).
            unsafe { dealloc(self.base.as_ptr(), block.layout) };
        }
    }
}

// SAFETY: the block belongs to this value alone, as that of a `Vec` does.
unsafe impl<T: Send> Send for Memory<T> {}
// SAFETY: a shared reference only reads it.
unsafe impl<T: Sync> Sync for Memory<T> {}

/// Requests huge pages for the whole ones among `bytes`. It is advice: a system that cannot follow
/// it returns an error, and nothing changes.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise_huge_pages(start: NonNull<u8>, bytes: usize) {
    let whole = bytes / HUGE * HUGE;
    // SAFETY: the range is part of a block that is ours; what its pages hold does not change.
    unsafe { libc::madvise(start.as_ptr().cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise_huge_pages(_: NonNull<u8>, _: usize) {}
