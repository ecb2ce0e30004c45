//! Combining elements of a rank's memory with others, each as a whole, since nobody else is there
//! meanwhile.

use ranks_comm::{Pod, Result};

use super::window::LocalWindow;
use crate::epoch::accumulation::Accumulation;

impl LocalWindow {
    /// Combines `data` with the elements from byte `at` on of the memory of `rank`.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub(crate) fn accumulate<T: Pod, O: Accumulation<T>>(
        &self,
        rank: usize,
        at: usize,
        data: &[T],
        op: O,
    ) -> Result<()> {
        self.update(rank, at, data.len(), |there| combine(there, data, op))
    }

    /// The same, and copies what was there before to `old`, which is as long as `data`.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub(crate) fn get_accumulate<T: Pod, O: Accumulation<T>>(
        &self,
        rank: usize,
        at: usize,
        data: &[T],
        old: &mut [T],
        op: O,
    ) -> Result<()> {
        self.update(rank, at, data.len(), |there| {
            old.copy_from_slice(there);
            combine(there, data, op);
        })
    }
}

fn combine<T: Pod, O: Accumulation<T>>(there: &mut [T], data: &[T], op: O) {
    for (there, operand) in there.iter_mut().zip(data) {
        *there = op.combine(*there, *operand);
    }
}
