//! Pages: the units in which the system hands out memory and places it.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, IoSliceMut, Read};
use std::ptr::NonNull;
use std::slice;

use ranks_comm::{Error, ErrorKind, Result};

use crate::preflight::Amount;

#[cfg(not(all(unix, not(miri))))]
#[path = "page/elsewhere.rs"]
mod system;
#[cfg(all(unix, not(miri)))]
#[path = "page/unix.rs"]
mod system;

mod stripe;

pub(crate) use stripe::stripe;
pub(crate) use system::{make_writable, welcome_large};

/// Smaller pages there are none.
const LEAST: usize = 4096;

/// Number of bytes of a page.
pub(crate) fn page_size() -> usize {
    system::page_size()
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

/// Has pages that the system gives to who writes to them come to lie near this rank: puts a zero
/// into each page of so many bytes.
///
/// # Safety
/// So many bytes are there; they are zero, and nobody else touches them.
pub(crate) unsafe fn touch(first: NonNull<u8>, bytes: usize) {
    for at in (0..bytes).step_by(page_size()) {
        // SAFETY: it is one of the bytes.
        let byte = unsafe { first.add(at) };
        // SAFETY: nobody else touches it, by contract; it is the zero that it was.
        unsafe { byte.write_volatile(0) };
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
