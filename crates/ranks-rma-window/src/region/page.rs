//! Pages: the units in which the system hands out memory and places it.

use std::ops::Range;
use std::ptr::NonNull;

/// Smaller pages there are none.
const LEAST: usize = 4096;

/// How many bytes a page has.
pub(crate) fn page_size() -> usize {
    let known = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE);
    let known = known
        .ok()
        .flatten()
        .and_then(|size| usize::try_from(size).ok());
    known
        .filter(|size| size.is_power_of_two())
        .unwrap_or(LEAST)
        .max(LEAST)
}

/// Says to the system that the whole pages among `bytes` bytes from `base` may be large ones; both lie in one mapping. What
/// it makes of that is its own affair.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn welcome_large(base: NonNull<u8>, bytes: usize) {
    use nix::sys::mman::{MmapAdvise, madvise};

    let whole = bytes / page_size() * page_size();
    // SAFETY: the pages are ours, as their caller says; what they hold does not change.
    let _ = unsafe { madvise(base.cast(), whole, MmapAdvise::MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn welcome_large(_: NonNull<u8>, _: usize) {}

/// Lets the whole pages among these bytes from `base`, which begins a page, be written to, or only be read. Whether that worked.
#[cfg(not(miri))]
pub(super) fn make_writable(base: NonNull<u8>, bytes: Range<usize>, writable: bool) -> bool {
    use nix::sys::mman::{ProtFlags, mprotect};

    let page = page_size();
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

#[cfg(miri)]
pub(super) fn make_writable(_: NonNull<u8>, _: Range<usize>, _: bool) -> bool {
    true
}
