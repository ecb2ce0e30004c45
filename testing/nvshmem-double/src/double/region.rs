//! Control words that the PEs have in common: a memfd of whoever made the unique id.
//!
//! It begins with a page of words for all, then comes one slot per PE: a page of words, then its
//! lines. All access is by atomic words.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// Bytes of the words for all.
pub(crate) const HEADER: usize = 1 << 16;
/// Bytes of a PE's own words.
const OWN: usize = 4096;
/// The number of lines of a PE: one for each team that can be.
pub(crate) const LINES: usize = 300;
/// Words of a line.
pub(crate) const LINE: usize = 20;
/// Bytes of a PE's slot.
const SLOT: usize = 1 << 16;
/// The largest number of PEs here.
pub(crate) const MAX_PES: usize = 64;

const _: () = assert!(OWN + LINES * LINE * 8 <= SLOT);

/// Words for all.
pub(crate) mod for_all {
    /// What tells this memory from any other.
    pub(crate) const NONCE: usize = 0;
    pub(crate) const N_PES: usize = 1;
    /// The number of PEs that have come.
    pub(crate) const MAPPED: usize = 2;
    /// From here on, up to 8191, they are the teams'.
    pub(crate) const TEAMS: usize = 512;
}

/// Words of a PE.
pub(crate) mod own {
    pub(crate) const PID: usize = 0;
    /// The descriptor of its heap, and 1.
    pub(crate) const HEAP_FILE: usize = 1;
    /// The number of bytes of the file before the heap.
    pub(crate) const HEAP_SKEW: usize = 2;
    pub(crate) const HEAP_BYTES: usize = 3;
    /// 1 when this PE has mapped the heaps of the others.
    pub(crate) const READY: usize = 4;
    /// Eight words that a driver finds its heap by.
    pub(crate) const HEAP_HANDLE: usize = 8;
    /// From here on, up to 511, they are the teams'.
    pub(crate) const TEAMS: usize = 64;
}

/// Mapped memory of a file.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to no thread, and who reads and writes in it is the business of its
// users.
unsafe impl Send for Mapping {}
// SAFETY: the same.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `length` bytes of a file that is at least as long.
    pub(crate) fn of(file: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let file = file.as_raw_fd();
        // SAFETY: a new mapping, at an address that nobody has.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                access,
                libc::MAP_SHARED,
                file,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { base, length })
    }

    /// The address of `bytes` bytes, which lie inside.
    pub(crate) fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        let end = offset.checked_add(bytes);
        assert!(end.is_some_and(|end| end <= self.length), "inside");
        // SAFETY: inside of the mapping, by the line above.
        unsafe { self.base.add(offset) }.as_ptr()
    }

    /// The word at `offset` bytes.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8), "aligned");
        let word = self.at(offset, 8).cast::<AtomicU64>();
        // SAFETY: mapped as long as `self` is there, and aligned, as mappings begin with a page.
        unsafe { &*word }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with that length, and nobody has a reference into it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// The control words.
pub(crate) struct Region(Mapping);

impl Region {
    /// The number of bytes that so many PEs need.
    pub(crate) fn length_for(pes: usize) -> usize {
        HEADER + pes * SLOT
    }

    pub(crate) fn map(file: BorrowedFd<'_>, pes: usize) -> io::Result<Self> {
        Mapping::of(file, Self::length_for(pes)).map(Self)
    }

    /// A word for all.
    pub(crate) fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index * 8 < HEADER, "a word for all");
        self.0.word(index * 8)
    }

    /// A PE's word.
    pub(crate) fn own(&self, pe: usize, index: usize) -> &AtomicU64 {
        assert!(index * 8 < OWN, "a PE's word");
        self.0.word(HEADER + pe * SLOT + index * 8)
    }

    /// A word of a PE's line.
    pub(crate) fn line(&self, pe: usize, line: usize, index: usize) -> &AtomicU64 {
        assert!(line < LINES && index < LINE, "a word of a line");
        self.0
            .word(HEADER + pe * SLOT + OWN + (line * LINE + index) * 8)
    }
}
