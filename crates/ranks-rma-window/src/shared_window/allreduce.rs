//! The reduction of the segments of all ranks, where they lie.

use bytemuck::Pod;
use ranks_collectives::Op;
use ranks_collectives::backend::{agree_on_reduction, combine};
use ranks_comm::{Error, ErrorKind, Result};

use super::steps::Goal;
use super::{Read, SharedWindow, Write};
use crate::page::stripe;

const OPERATION: &str = "SharedWindow::allreduce";

/// The number of bytes that are combined with those of all ranks before the next ones, so that the
/// cache keeps them.
const BLOCK: usize = 16 << 10;

impl<T: Pod> SharedWindow<T, Write> {
    /// Reduces the segments of all ranks with `op`, element by element, into the segment of rank 0,
    /// and goes on to reading, on all ranks together. Collective.
    ///
    /// Nothing is copied or sent: each rank combines a part of all segments where they lie, in the
    /// order of ranks, so that the result has the same bits whenever it is made. The segments of
    /// the other ranks stay as they are. All segments have the same length, and all ranks pass the
    /// same operation.
    ///
    /// ```
    /// # use ranks::prelude::*;
    /// # use ranks::rma::SharedWindow;
    /// /// The sum of what all ranks of a node have found.
    /// fn total(node: &Communicator, found: &[f64]) -> Result<Vec<f64>> {
    ///     let mut window = SharedWindow::<f64>::allocate(node, found.len())?;
    ///     window.mine_mut().copy_from_slice(found);
    ///     let sum = window.allreduce(Sum)?;
    ///     Ok(sum.segment(0).to_vec())
    /// }
    /// # ranks::run(|world| {
    /// # let node = world.split_shared(0)?;
    /// # assert_eq!(total(&node, &[1.0, 2.0])?, [node.size() as f64, 2.0 * node.size() as f64]);
    /// # Ok::<(), ranks::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Length`] on all ranks if their segments differ in length; where ranks compare
    /// their calls, [`ErrorKind::Mismatch`] if they pass different operations;
    /// [`ErrorKind::Argument`] on the rank where a closure of the program's panics. Otherwise as
    /// [`fence`](Self::fence). The window is gone then.
    pub fn allreduce<O: Op<T>>(mut self, op: O) -> Result<SharedWindow<T, Read>> {
        let node = self.segments.node().clone();
        let _entered = node.enter(OPERATION)?;
        let length = self.equal_length()?;
        self.pass(OPERATION, Goal::Reduce)?;
        // All ranks have come for a reduction, so that none is waited for in vain.
        agree_on_reduction::<T, O>(&node, OPERATION)?;
        let mine = stripe::<T>(length, self.rank(), self.size());
        let step = (BLOCK / size_of::<T>().max(1)).max(1);
        for start in mine.clone().step_by(step) {
            let block = start..mine.end.min(start + step);
            // SAFETY: between the two steps a rank writes to its stripe of this segment alone,
            // which no other rank touches.
            let sum = unsafe { self.segments.part_mut(0, block.clone()) };
            for rank in 1..self.size() {
                // SAFETY: between the two steps nobody writes to the segments of these ranks.
                let theirs = unsafe { self.segments.slice(rank) };
                let theirs = theirs.get(block.clone()).unwrap_or_default();
                combine(OPERATION, &op, sum, theirs)?;
            }
        }
        self.pass(OPERATION, Goal::Read)?;
        Ok(self.in_phase())
    }

    /// The length of all segments.
    fn equal_length(&self) -> Result<usize> {
        let length = self.len_of(0);
        match (1..self.size()).find(|&rank| self.len_of(rank) != length) {
            None => Ok(length),
            Some(other) => Err(Error::new(
                ErrorKind::Length,
                OPERATION,
                format_args!(
                    "the segment of rank 0 has {length} elements, that of rank {other} {}; all must be as long",
                    self.len_of(other)
                ),
            )),
        }
    }
}
