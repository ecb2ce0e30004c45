//! Pages of Unix.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr::NonNull;

use nix::sys::mman::{ProtFlags, mprotect};
use nix::unistd::{SysconfVar, sysconf};

/// The system's own word on the number of bytes of a page.
pub(super) fn page_size() -> Option<usize> {
    usize::try_from(sysconf(SysconfVar::PAGE_SIZE).ok()??).ok()
}

/// Says to the system that the whole pages among `bytes` bytes from `base` may be large ones; both
/// lie in one mapping. What it makes of that is its own affair.
#[cfg(target_os = "linux")]
pub(crate) fn welcome_large(base: NonNull<u8>, bytes: usize) {
    use nix::sys::mman::{MmapAdvise, madvise};

    let page = super::page_size();
    let whole = bytes / page * page;
    // SAFETY: the pages are ours, as their caller says; what they hold does not change.
    let _ = unsafe { madvise(base.cast(), whole, MmapAdvise::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn welcome_large(_: NonNull<u8>, _: usize) {}

/// Lets the whole pages among these bytes from `base`, which begins a page, be written to, or only
/// be read. Whether that worked.
pub(crate) fn make_writable(base: NonNull<u8>, bytes: Range<usize>, writable: bool) -> bool {
    let page = super::page_size();
    let pages = bytes.start.next_multiple_of(page)..bytes.end / page * page;
    if pages.is_empty() {
        return true;
    }
    let rights = if writable {
        ProtFlags::PROT_READ | ProtFlags::PROT_WRITE
    } else {
        ProtFlags::PROT_READ
    };
    // SAFETY: the bytes belong to the memory that begins at the base, as the caller says.
    let first = unsafe { base.add(pages.start) };
    // SAFETY: the pages are ours, as the caller says, and what they hold does not change.
    unsafe { mprotect(first.cast(), pages.len(), rights) }.is_ok()
}
