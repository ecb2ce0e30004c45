//! A ring of bytes from one rank to another: one writes, one reads, neither waits.

use std::sync::atomic::{AtomicU64, Ordering};

use super::region::{CAPACITY, Channel, Region};

/// One side's view of it.
pub(crate) struct Ring<'a> {
    written: &'a AtomicU64,
    read: &'a AtomicU64,
    bytes: *mut u8,
}

impl<'a> Ring<'a> {
    pub(crate) fn new(
        region: &'a Region,
        ranks: usize,
        channel: Channel,
        source: usize,
        dest: usize,
    ) -> Self {
        let (written, read, bytes) = region.ring(ranks, channel, source, dest);
        Self {
            written,
            read,
            bytes,
        }
    }

    /// The number of bytes that can be read. What is no such number, because a process has gone
    /// wild, is none.
    pub(crate) fn readable(&self) -> usize {
        let written = self.written.load(Ordering::Acquire);
        let ahead = written.wrapping_sub(self.read.load(Ordering::Relaxed));
        usize::try_from(ahead)
            .ok()
            .filter(|&ahead| ahead <= CAPACITY)
            .unwrap_or(0)
    }

    /// The number of bytes that can be written.
    pub(crate) fn writable(&self) -> usize {
        let read = self.read.load(Ordering::Acquire);
        let ahead = self.written.load(Ordering::Relaxed).wrapping_sub(read);
        usize::try_from(ahead)
            .ok()
            .and_then(|ahead| CAPACITY.checked_sub(ahead))
            .unwrap_or(0)
    }

    /// Writes as many of `data` as there is room for.
    pub(crate) fn write(&self, data: &[u8]) -> usize {
        let count = data.len().min(self.writable());
        let at = self.written.load(Ordering::Relaxed);
        let (start, first) = Self::split(at, count);
        // SAFETY: `start` is inside of the ring.
        let to = unsafe { self.bytes.add(start) };
        // SAFETY: up to the end of the ring, in the part that the reader has left, as `writable`
        // has seen.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, first) };
        let rest = &data[first..count];
        // SAFETY: from the beginning of the ring, in that part as well.
        unsafe { std::ptr::copy_nonoverlapping(rest.as_ptr(), self.bytes, rest.len()) };
        self.written
            .store(at.wrapping_add(count as u64), Ordering::Release);
        count
    }

    /// Reads as many bytes as there are, and as fit.
    pub(crate) fn read(&self, room: &mut [u8]) -> usize {
        let count = room.len().min(self.readable());
        let at = self.read.load(Ordering::Relaxed);
        let (start, first) = Self::split(at, count);
        // SAFETY: `start` is inside of the ring.
        let from = unsafe { self.bytes.add(start) };
        // SAFETY: up to the end of the ring, in the part that was written, as `readable` has seen.
        unsafe { std::ptr::copy_nonoverlapping(from, room.as_mut_ptr(), first) };
        let rest = &mut room[first..count];
        // SAFETY: from the beginning of the ring, in that part as well.
        unsafe { std::ptr::copy_nonoverlapping(self.bytes, rest.as_mut_ptr(), rest.len()) };
        self.read
            .store(at.wrapping_add(count as u64), Ordering::Release);
        count
    }

    /// Where position `at` is in the ring, and how many of `count` bytes come before its end.
    fn split(at: u64, count: usize) -> (usize, usize) {
        let start = usize::try_from(at % CAPACITY as u64).unwrap_or(0);
        (start, count.min(CAPACITY - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::double::rendezvous;

    #[test]
    fn bytes_arrive_in_order_across_the_end_of_the_ring() {
        let region = rendezvous::scratch(2).unwrap();
        let ring = || Ring::new(&region, 2, Channel::Pairwise, 0, 1);
        let (writer, reader) = (ring(), ring());
        let mut next = 0_u8;
        let mut expected = 0_u8;
        for size in [1_usize, 4000, 65_536, 30_000, 50_000, 65_535] {
            let data: Vec<u8> = (0..size)
                .map(|_| {
                    next = next.wrapping_add(7);
                    next
                })
                .collect();
            assert_eq!(writer.write(&data), size);
            assert_eq!(
                writer.write(&vec![0; 70_000][..CAPACITY - size]),
                CAPACITY - size
            );
            assert_eq!(writer.write(&[1]), 0);
            let mut room = vec![0; size];
            assert_eq!(reader.read(&mut room), size);
            for byte in room {
                expected = expected.wrapping_add(7);
                assert_eq!(byte, expected);
            }
            assert_eq!(reader.read(&mut vec![0; 70_000]), CAPACITY - size);
            assert_eq!(reader.readable(), 0);
        }
    }
}
