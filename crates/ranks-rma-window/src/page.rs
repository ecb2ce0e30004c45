//! Pages: the units in which the system hands out memory and places it.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, IoSliceMut, Read};
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;

use ranks_comm::{Error, ErrorKind, Result};

use crate::preflight::Amount;

/// Smaller pages there are none.
const LEAST: usize = 4096;

/// Number of bytes of a page.
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

/// Has the system give the pages of so many bytes, near this rank: puts a zero into each page.
///
/// The system answers who asks it to write to memory that there is no page for. Who writes there
/// without asking is killed.
///
/// # Errors
/// [`ErrorKind::Memory`] if the system has none, as for a file in memory whose file system is full.
///
/// # Safety
/// So many bytes are there; they are zero or not used yet, and nobody else touches them.
pub(crate) unsafe fn take(first: NonNull<u8>, bytes: usize) -> Result<()> {
    /// So many are asked for at once.
    const MANY: usize = 1024;
    let page = page_size();
    let failed = |error: io::Error| refused(bytes, &error);
    let mut zeros = File::open("/dev/zero").map_err(failed)?;
    // The first byte, and then one at each begin of a page.
    let before = first.addr().get() % page;
    let pages = 0..(before + bytes).div_ceil(page) * usize::from(bytes > 0);
    let mut rest = pages.map(|number| (number * page).saturating_sub(before));
    loop {
        let mut places: Vec<IoSliceMut<'_>> = rest
            .by_ref()
            .take(MANY)
            .map(|at| {
                // SAFETY: it is one of the bytes.
                let byte = unsafe { first.add(at) };
                // SAFETY: as above; nobody else touches it.
                IoSliceMut::new(unsafe { slice::from_raw_parts_mut(byte.as_ptr(), 1) })
            })
            .collect();
        if places.is_empty() {
            return Ok(());
        }
        let mut left = &mut places[..];
        while !left.is_empty() {
            match zeros.read_vectored(left) {
                Ok(0) => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
                Ok(done) => IoSliceMut::advance_slices(&mut left, done),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

#[cold]
fn refused(bytes: usize, error: &io::Error) -> Error {
    let bytes = Amount(bytes as u64);
    Error::new(
        ErrorKind::Memory,
        "MPI_Win_allocate_shared",
        format_args!(
            "the system has no pages for {bytes} of shared memory ({error}): others have taken what was free; enlarge /dev/shm (docker \
             run --shm-size=…, mount -o remount,size=… /dev/shm) or the memory of the job, ask for less, or free other shared memory"
        ),
    )
}

/// Says to the system that the whole pages among `bytes` bytes from `base` may be large ones; both
/// lie in one mapping. What it makes of that is its own affair.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn welcome_large(base: NonNull<u8>, bytes: usize) {
    use nix::sys::mman::{MmapAdvise, madvise};

    let whole = bytes / page_size() * page_size();
    // SAFETY: the pages are ours, as their caller says; what they hold does not change.
    let _ = unsafe { madvise(base.cast(), whole, MmapAdvise::MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn welcome_large(_: NonNull<u8>, _: usize) {}

/// Lets the whole pages among these bytes from `base`, which begins a page, be written to, or only
/// be read. Whether that worked.
#[cfg(not(miri))]
pub(crate) fn make_writable(base: NonNull<u8>, bytes: Range<usize>, writable: bool) -> bool {
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
pub(crate) fn make_writable(_: NonNull<u8>, _: Range<usize>, _: bool) -> bool {
    true
}
