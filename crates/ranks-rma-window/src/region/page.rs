//! Pages: the units in which the system hands out memory and places it.

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
