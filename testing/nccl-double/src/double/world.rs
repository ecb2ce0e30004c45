//! The ranks of a communicator, as one of them sees them through their common memory.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use super::region::{Channel, Region};
use super::ring::Ring;
use super::waiting::start_of;

// Words for all.
pub(crate) const NONCE: usize = 0;
pub(crate) const RANKS: usize = 1;
pub(crate) const MAPPED: usize = 2;
// Words of each rank.
pub(crate) const PID: usize = 0;
pub(crate) const START: usize = 1;
pub(crate) const DEVICE: usize = 2;

/// The common memory, and which rank this is.
pub(crate) struct World {
    region: Region,
    pub(crate) ranks: usize,
    pub(crate) rank: usize,
    /// Held while this rank tells the others something, or listens to them.
    pub(crate) control: Mutex<()>,
}

impl World {
    pub(crate) fn new(region: Region, ranks: usize, rank: usize) -> Self {
        Self {
            region,
            ranks,
            rank,
            control: Mutex::new(()),
        }
    }

    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// The ring to another rank.
    pub(crate) fn to(&self, channel: Channel, dest: usize) -> Ring<'_> {
        Ring::new(&self.region, self.ranks, channel, self.rank, dest)
    }

    /// The ring from another rank.
    pub(crate) fn from(&self, channel: Channel, source: usize) -> Ring<'_> {
        Ring::new(&self.region, self.ranks, channel, source, self.rank)
    }

    /// Which device a rank works on.
    pub(crate) fn device(&self, rank: usize) -> u64 {
        self.region.slot(rank, DEVICE).load(Ordering::Relaxed)
    }

    /// What tells this communicator from others.
    pub(crate) fn nonce(&self) -> u64 {
        self.region.word(NONCE).load(Ordering::Relaxed)
    }

    /// A rank whose process is over, if there is one.
    pub(crate) fn dead_rank(&self) -> Option<usize> {
        (0..self.ranks).find(|&rank| {
            let pid = self.region.slot(rank, PID).load(Ordering::Acquire);
            let start = self.region.slot(rank, START).load(Ordering::Acquire);
            start != 0 && u32::try_from(pid).is_ok_and(|pid| start_of(pid) != start)
        })
    }
}
