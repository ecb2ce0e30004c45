//! An allocator that counts what each thread has.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// The bytes that this thread has asked for and not given back, and the most that it had since
    /// the last mark.
    static BYTES: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn add(bytes: usize, sign: isize) {
    // While a thread ends there is nothing to count with.
    let _ = BYTES.try_with(|all| {
        let (now, peak) = all.get();
        let now = now + sign * bytes.cast_signed();
        all.set((now, peak.max(now)));
    });
}

/// Forgets the peak, and returns the bytes that this thread has.
pub(crate) fn mark() -> isize {
    let (now, _) = BYTES.get();
    BYTES.set((now, now));
    now
}

/// The bytes that this thread has more than then, and the most that it had.
pub(crate) fn since(before: isize) -> (usize, usize) {
    let (now, peak) = BYTES.get();
    let more = |bytes: isize| usize::try_from(bytes - before).unwrap_or(0);
    (more(now), more(peak))
}

/// The system's allocator, counted.
#[derive(Debug, Clone, Copy)]
pub struct Counting;

// SAFETY: every call is passed on as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size(), 1);
        // SAFETY: the contract of the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size(), 1);
        // SAFETY: the contract of the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        add(layout.size(), -1);
        // SAFETY: the contract of the caller.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size, 1);
        add(layout.size(), -1);
        // SAFETY: the contract of the caller.
        unsafe { System.realloc(block, layout, size) }
    }
}
