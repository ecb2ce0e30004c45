//! The room of a heap that its library loses where there is none.
//!
//! Before 3.8 an allocation for which there is no memory of the device unmaps the whole heap, and
//! then returns null: what is not there is found out before. Such a heap begins with one piece, and
//! grows by pieces. What is not known is what the library has put into the first piece, and whether
//! others take memory of the device meanwhile: the heap that is lost all the same is an error of
//! its own.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::env;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_nvshmem_sys::Version;

/// The release that keeps what was mapped.
const MENDED: Version = Version::new(3, 8);
/// The unit in which blocks are counted.
const ALIGNMENT: usize = 512;
/// The least that the driver maps at once.
const LEAST_PIECE: usize = 2 << 20;
const GRANULARITY: usize = 512 << 20;
/// 128 GiB; 256 GiB in later releases.
const MOST: usize = 128 << 30;
/// The most that the library may have put into the first piece.
const OWN: usize = 256 << 20;

/// The bookkeeping of a heap that grows.
#[derive(Debug)]
pub(super) struct Room {
    /// The length of the pieces that it grows by.
    piece: usize,
    /// The size that it never exceeds.
    most: usize,
    /// The number of PEs that may take as much of the same device at the same time.
    sharing: usize,
    used: Cell<usize>,
    /// The bytes that are left of the first piece, at least.
    first: Cell<usize>,
    /// The ranges that were freed and not taken again: length by address.
    holes: RefCell<BTreeMap<usize, usize>>,
}

impl Room {
    /// `None` where the library says that there is no room, and harms nothing.
    pub(super) fn of(version: Version, sharing: usize) -> Option<Self> {
        let is_static = is_set("NVSHMEM_DISABLE_CUDA_VMM")
            || env::var("NVSHMEM_HEAP_KIND").is_ok_and(|it| it.eq_ignore_ascii_case("SYSMEM"));
        if version >= MENDED || is_static {
            return None;
        }
        let piece = size("NVSHMEM_CUMEM_GRANULARITY", GRANULARITY).clamp(LEAST_PIECE, 2 << 30);
        let most = size("NVSHMEM_MAX_MEMORY_PER_GPU", MOST);
        Some(Self::new(piece, most, sharing))
    }

    fn new(piece: usize, most: usize, sharing: usize) -> Self {
        Self {
            piece,
            most: most.checked_next_multiple_of(piece).unwrap_or(most),
            sharing,
            used: Cell::new(0),
            first: Cell::new(piece.saturating_sub(OWN)),
            holes: RefCell::default(),
        }
    }

    /// # Errors
    /// [`ErrorKind::Memory`] unless so many bytes are there, or can be had from `free` bytes of the
    /// device.
    pub(super) fn check(&self, name: &'static str, bytes: usize, free: usize) -> Result<()> {
        let length = bytes.checked_next_multiple_of(ALIGNMENT);
        let used = length.and_then(|length| length.checked_add(self.used.get()));
        let (Some(length), Some(used)) = (length, used) else {
            return Err(self.refusal(name, bytes, free));
        };
        if used > self.most {
            return Err(self.refusal(name, bytes, free));
        }
        let is_mapped =
            length <= self.first.get() || self.holes.borrow().values().any(|&hole| length <= hole);
        let growth = length.checked_next_multiple_of(self.piece);
        let growth = growth.and_then(|growth| growth.checked_mul(self.sharing));
        if is_mapped || growth.is_some_and(|growth| growth <= free) {
            return Ok(());
        }
        Err(self.refusal(name, bytes, free))
    }

    #[cold]
    fn refusal(&self, name: &'static str, bytes: usize, free: usize) -> Error {
        let (piece, most, used, sharing) = (self.piece, self.most, self.used.get(), self.sharing);
        let text = format_args!(
            "the symmetric heap has no room for {bytes} bytes on this PE: {used} bytes of {most} (NVSHMEM_MAX_MEMORY_PER_GPU) are in use, it grows by \
             pieces of {piece} (NVSHMEM_CUMEM_GRANULARITY), the device has {free} bytes left, and {sharing} PEs may take as much of it; `collect` \
             frees what all PEs have dropped"
        );
        Error::new(ErrorKind::Memory, name, text)
    }

    /// The library has given this block.
    pub(super) fn taken(&self, address: usize, bytes: usize) {
        let length = bytes.next_multiple_of(ALIGNMENT);
        self.used.set(self.used.get().saturating_add(length));
        let end = address.saturating_add(length);
        let mut holes = self.holes.borrow_mut();
        let touched: Vec<_> = holes
            .range(..end)
            .map(|(&from, &length)| (from, from + length))
            .filter(|&(_, to)| to > address)
            .collect();
        let new = touched.is_empty();
        for (from, to) in touched {
            holes.remove(&from);
            if from < address {
                holes.insert(from, address - from);
            }
            if to > end {
                holes.insert(end, to - end);
            }
        }
        if new {
            self.first.set(self.first.get().saturating_sub(length));
        }
    }

    /// The library has this block back.
    pub(super) fn given(&self, address: usize, bytes: usize) {
        let length = bytes.next_multiple_of(ALIGNMENT);
        self.used.set(self.used.get().saturating_sub(length));
        let mut holes = self.holes.borrow_mut();
        let (mut from, mut to) = (address, address.saturating_add(length));
        if let Some((&before, &length)) = holes.range(..from).next_back()
            && before + length == from
        {
            holes.remove(&before);
            from = before;
        }
        if let Some(length) = holes.remove(&to) {
            to += length;
        }
        holes.insert(from, to - from);
    }
}

/// As the library reads a switch.
fn is_set(name: &str) -> bool {
    env::var(name).is_ok_and(|text| !text.starts_with(['0', 'N', 'n', 'F', 'f']))
}

/// As the library reads a length, which may have a fraction and a unit.
fn size(name: &str, default: usize) -> usize {
    let parsed = env::var(name).ok().and_then(|text| bytes_of(text.trim()));
    parsed.unwrap_or(default)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the library computes so, and what is negative was sorted out"
)]
fn bytes_of(text: &str) -> Option<usize> {
    let (number, unit) = match text.char_indices().last()? {
        (at, letter) if letter.is_ascii_alphabetic() => (text.get(..at)?, letter),
        _ => (text, ' '),
    };
    let scale: usize = match unit.to_ascii_uppercase() {
        ' ' => 1,
        'K' => 1 << 10,
        'M' => 1 << 20,
        'G' => 1 << 30,
        'T' => 1 << 40,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    (number >= 0.0).then(|| (number * scale as f64).ceil() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: usize = 512 << 20;
    const PLENTY: usize = 64 << 30;

    #[test]
    fn what_is_mapped_needs_no_memory_of_the_device() {
        let room = Room::new(PIECE, MOST, 1);
        let fits = |bytes, free| room.check("nvshmem_malloc", bytes, free).is_ok();
        assert!(fits(PIECE - OWN, 0) && !fits(PIECE - OWN + 1, 0));
        assert!(fits(PIECE, PIECE) && !fits(PIECE + 1, PIECE));
        room.taken(0, PIECE - OWN);
        assert!(!fits(1, PIECE - 1) && fits(1, PIECE));
        room.given(0, 1000);
        assert!(fits(1024, 0) && !fits(1025, 0));
        // What is freed beside it is one hole with it.
        room.given(1024, 512);
        assert!(fits(1536, 0));
        room.taken(512, 512);
        assert!(fits(512, 0) && !fits(513, 0));
    }

    #[test]
    fn there_is_an_end_of_growth() {
        let room = Room::new(LEAST_PIECE, 3 << 20, 2);
        let error = |bytes, free| room.check("nvshmem_malloc", bytes, free).unwrap_err();
        assert!(room.check("nvshmem_malloc", 4 << 20, PLENTY).is_ok());
        assert_eq!(error((4 << 20) + 1, PLENTY).kind(), ErrorKind::Memory);
        room.taken(0, 1 << 20);
        assert!(
            error((3 << 20) + 1, PLENTY)
                .to_string()
                .contains("1048576 bytes of 4194304")
        );
        // Each of two PEs takes a piece of the same device.
        assert!(room.check("nvshmem_malloc", 8, 4 << 20).is_ok());
        assert_eq!(error(8, (4 << 20) - 1).kind(), ErrorKind::Memory);
        for bytes in [usize::MAX, usize::MAX - 1023, isize::MAX as usize] {
            assert_eq!(error(bytes, usize::MAX).kind(), ErrorKind::Memory);
        }
    }

    #[test]
    fn lengths_are_read_as_the_library_reads_them() {
        let read = ["64", "1.5k", "2M", "1G", "0.5t", "x", "-1", "3Q", ""];
        let bytes = [
            Some(64),
            Some(1536),
            Some(2 << 20),
            Some(1 << 30),
            Some(1 << 39),
            None,
            None,
            None,
            None,
        ];
        assert_eq!(read.map(bytes_of), bytes);
    }
}
