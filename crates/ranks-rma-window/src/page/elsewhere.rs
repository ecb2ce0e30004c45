//! Systems whose pages are left as they are.

use std::ops::Range;
use std::ptr::NonNull;

/// Returns `None`: nothing here depends on it.
pub(super) fn page_size() -> Option<usize> {
    None
}

pub(crate) fn welcome_large(_: NonNull<u8>, _: usize) {}

/// Leaves the pages writable, which is no failure.
pub(crate) fn make_writable(_: NonNull<u8>, _: Range<usize>, _: bool) -> bool {
    true
}
