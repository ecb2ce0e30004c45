//! Memory of this process: for one rank, or for threads that are ranks.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use ranks_comm::{Error, ErrorKind, Result};

use crate::page::page_size;

/// Zeros that begin with a page.
#[derive(Debug)]
pub(super) struct Heap {
    block: NonNull<u8>,
    layout: Layout,
    base: NonNull<u8>,
}

// SAFETY: it is an address, of a block that is freed once, by whoever drops it last; nothing here
// reads or writes behind it.
unsafe impl Send for Heap {}

// SAFETY: as above.
unsafe impl Sync for Heap {}

impl Heap {
    /// # Errors
    /// [`ErrorKind::Length`] if there is no memory.
    pub(super) fn zeroed(bytes: usize) -> Result<Self> {
        let page = page_size();
        // Allocators are at their best with small alignments: zeros then come untouched from the
        // system. So the first page boundary is looked for.
        let layout = bytes
            .checked_add(page)
            .and_then(|size| Layout::from_size_align(size, align_of::<u128>()).ok());
        let Some(layout) = layout else {
            return Err(no_memory(bytes));
        };
        // SAFETY: the layout is a page long at least.
        let block = unsafe { alloc_zeroed(layout) };
        let block = NonNull::new(block).ok_or_else(|| no_memory(bytes))?;
        let address = block.addr().get();
        let skipped = address.next_multiple_of(page) - address;
        // SAFETY: less than a page is skipped, and the block is a page longer than `bytes`.
        let base = unsafe { block.add(skipped) };
        Ok(Self {
            block,
            layout,
            base,
        })
    }

    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: the block was allocated with this layout, and this is its only owner.
        unsafe { dealloc(self.block.as_ptr(), self.layout) };
    }
}

#[cold]
fn no_memory(bytes: usize) -> Error {
    Error::new(
        ErrorKind::Length,
        "MPI_Win_allocate_shared",
        format_args!("this process has no memory for {bytes} bytes"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_with_a_page_of_zeros() {
        for bytes in [0, 1, 100_000] {
            let heap = Heap::zeroed(bytes).unwrap();
            assert_eq!(heap.base().addr().get() % page_size(), 0);
            // SAFETY: as many bytes belong to the heap.
            let zeros = unsafe { std::slice::from_raw_parts(heap.base().as_ptr(), bytes) };
            assert!(zeros.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn what_no_memory_holds_is_an_error() {
        for bytes in [usize::MAX, usize::MAX / 2] {
            let error = Heap::zeroed(bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Length);
        }
    }
}
