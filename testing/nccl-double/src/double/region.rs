//! Memory that the ranks of a communicator have in common: a memfd of whoever made the unique id.
//!
//! It begins with a page of words for all, then one slot of words per rank, then the rings. All
//! access is by atomic words, or to bytes of a ring that belong to one side at a time. Nothing of
//! it has a name, so nothing is left behind.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use super::failure::{Failure, Outcome};

/// Bytes of the page for all.
pub(crate) const HEADER: usize = 4096;
/// Bytes of a rank's slot.
const SLOT: usize = 256;
/// Bytes in flight in a ring.
pub(crate) const CAPACITY: usize = 1 << 16;
/// Bytes of a ring with its two counters.
const RING: usize = CAPACITY + 4096;
/// The number of ranks that a communicator can have here.
pub(crate) const MAX_RANKS: usize = 64;

/// What a ring is for. Each pair of ranks has one of each kind in each direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    /// What the hosts tell each other.
    Control = 0,
    Collective = 1,
    Pairwise = 2,
    OneSided = 3,
}

/// The number of kinds.
pub(crate) const CHANNELS: usize = 4;

/// A mapping of that memory, of one rank.
pub(crate) struct Region {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to no thread, and all access is as the module says.
unsafe impl Send for Region {}
// SAFETY: the same.
unsafe impl Sync for Region {}

impl Region {
    /// The number of bytes that so many ranks need.
    pub(crate) fn length_for(ranks: usize) -> usize {
        HEADER + ranks * SLOT + CHANNELS * ranks * ranks * RING
    }

    /// Maps the first `length` bytes.
    pub(crate) fn map(file: BorrowedFd<'_>, length: usize) -> Outcome<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, of a file that is at least as long: whoever maps it has made it
        // so.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(Failure::system("mmap"));
        }
        let base = NonNull::new(base.cast()).ok_or_else(|| Failure::system("mmap"))?;
        Ok(Self { base, length })
    }

    /// The word at `offset` bytes.
    fn word_at(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.length);
        // SAFETY: inside of the mapping, by the line above.
        let word = unsafe { self.base.add(offset) };
        // SAFETY: aligned, as mappings begin with a page; it is mapped as long as `self`, and words
        // are accessed atomically only.
        unsafe { word.cast().as_ref() }
    }

    /// A word of the page for all.
    pub(crate) fn word(&self, index: usize) -> &AtomicU64 {
        self.word_at(index * 8)
    }

    /// A word of a rank's slot.
    pub(crate) fn slot(&self, rank: usize, index: usize) -> &AtomicU64 {
        self.word_at(HEADER + rank * SLOT + index * 8)
    }

    /// The two counters of a ring, and where its bytes begin.
    pub(crate) fn ring(
        &self,
        ranks: usize,
        channel: Channel,
        source: usize,
        dest: usize,
    ) -> (&AtomicU64, &AtomicU64, *mut u8) {
        assert!(source < ranks && dest < ranks && Self::length_for(ranks) <= self.length);
        let number = (channel as usize * ranks + source) * ranks + dest;
        let offset = HEADER + ranks * SLOT + number * RING;
        // SAFETY: inside of the mapping, by the assertion and `length_for`.
        let bytes = unsafe { self.base.add(offset + 4096) };
        (
            self.word_at(offset),
            self.word_at(offset + 64),
            bytes.as_ptr(),
        )
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: it was mapped with that length, and nobody has a reference into it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}
