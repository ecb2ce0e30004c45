//! The partitions of a receive that have arrived.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of bytes of each partition that have arrived.
///
/// Whoever sees that all of a partition has arrived sees what was written to it.
#[derive(Debug)]
pub(crate) struct Arrivals {
    arrived: Box<[AtomicUsize]>,
    /// The bytes of a partition.
    width: usize,
}

impl Arrivals {
    /// Those of so many partitions, of which nothing has arrived.
    pub(crate) fn new(partitions: usize, width: usize) -> Self {
        let arrived = (0..partitions).map(|_| AtomicUsize::new(0)).collect();
        Self { arrived, width }
    }

    /// The number of partitions.
    pub(crate) fn len(&self) -> usize {
        self.arrived.len()
    }

    /// The bytes of a partition.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Begins anew; nobody else is there.
    pub(crate) fn clear(&mut self) {
        for bytes in &self.arrived {
            bytes.store(0, Ordering::Relaxed);
        }
    }

    /// Returns `true` if all of a partition has arrived.
    pub(crate) fn has(&self, index: usize) -> bool {
        self.is_whole(&self.arrived[index])
    }

    /// Returns `true` if all partitions have arrived.
    pub(crate) fn has_all(&self) -> bool {
        self.arrived.iter().all(|bytes| self.is_whole(bytes))
    }

    fn is_whole(&self, bytes: &AtomicUsize) -> bool {
        bytes.load(Ordering::Acquire) >= self.width
    }

    /// Notes that a partition has arrived.
    pub(crate) fn note_whole(&self, index: usize) {
        self.arrived[index].store(self.width, Ordering::Release);
    }

    /// Notes that these bytes of the message have arrived, once for each.
    pub(crate) fn note(&self, bytes: Range<usize>) {
        for (index, arrived) in self.arrived.iter().enumerate() {
            let (first, last) = (index * self.width, (index + 1) * self.width);
            let here = bytes.end.min(last).saturating_sub(bytes.start.max(first));
            if here > 0 {
                arrived.fetch_add(here, Ordering::Release);
            }
        }
    }
}
