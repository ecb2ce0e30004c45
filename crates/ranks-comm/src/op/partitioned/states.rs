//! The states of the partitions of a send.

use std::sync::atomic::{AtomicU8, Ordering};

/// Nobody writes to it.
pub(crate) const FREE: u8 = 0;
/// One writer has it.
pub(crate) const TAKEN: u8 = 1;
/// It is sent, and is not written to any more.
pub(crate) const READY: u8 = 2;

/// The state of each partition: [`FREE`], [`TAKEN`], [`READY`].
///
/// Whoever moves one from a state to the next sees what was written to the partition before.
#[derive(Debug)]
pub(crate) struct States(Box<[AtomicU8]>);

impl States {
    /// Those of so many free partitions.
    pub(crate) fn new(partitions: usize) -> Self {
        Self((0..partitions).map(|_| AtomicU8::new(FREE)).collect())
    }

    /// The number of partitions.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Moves all to one state; nobody else is there.
    pub(crate) fn set_all(&mut self, to: u8) {
        for state in &self.0 {
            state.store(to, Ordering::Relaxed);
        }
    }

    /// Moves a partition from one state to the next.
    ///
    /// # Errors
    /// The state that it is in, if there is such a partition.
    pub(crate) fn step(&self, index: usize, from: u8, to: u8) -> Result<(), Option<u8>> {
        let state = self.0.get(index).ok_or(None)?;
        state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
            .map_err(Some)
    }

    /// Moves all of these from one state to the next, or none of them.
    ///
    /// # Errors
    /// The first that is in another state, and as [`step`](Self::step).
    pub(crate) fn step_all(
        &self,
        indices: &[usize],
        from: u8,
        to: u8,
    ) -> Result<(), (usize, Option<u8>)> {
        for (done, &index) in indices.iter().enumerate() {
            if let Err(found) = self.step(index, from, to) {
                for &index in &indices[..done] {
                    self.put_back(index, from);
                }
                return Err((index, found));
            }
        }
        Ok(())
    }

    /// Puts a partition back, by the one that has moved it.
    pub(crate) fn put_back(&self, index: usize, to: u8) {
        self.0[index].store(to, Ordering::Release);
    }

    /// The partitions that are not ready.
    pub(crate) fn unready(&self) -> Vec<usize> {
        let states = self.0.iter().enumerate();
        states
            .filter(|(_, state)| state.load(Ordering::Acquire) != READY)
            .map(|(index, _)| index)
            .collect()
    }
}
