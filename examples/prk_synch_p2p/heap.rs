//! The slots are in the symmetric heap: each value comes with a signal.

use std::cell::{Cell, RefCell};

use ranks::nvshmem::{Comparison, Nvshmem, SignalOp, Signals, SymmetricVec};
use ranks::prelude::*;

use super::{Slots, waves};
use crate::prk::{Problem, heap};

/// The last corner, on PE 0, and the seconds that it took.
pub(super) fn run(pe: &Nvshmem<'_>, problem: Problem) -> Result<(f64, f64)> {
    let slots = InHeap {
        pe,
        values: pe.alloc(problem.order)?,
        signals: pe.signals(problem.order)?,
        taken: vec![Cell::new(0); problem.order],
        outbox: RefCell::new(pe.alloc(1)?),
    };
    let ended = heap::timed(pe, || waves(pe.my_pe(), pe.n_pes(), problem, &slots))?;
    let InHeap {
        values,
        signals,
        outbox,
        ..
    } = slots;
    values.free()?;
    signals.free()?;
    outbox.into_inner().free()?;
    Ok(ended)
}

/// A value and a signal for each slot. The signal counts the values that were put there.
struct InHeap<'a> {
    pe: &'a Nvshmem<'a>,
    values: SymmetricVec<'a, f64>,
    signals: Signals<'a>,
    /// The number of values that were taken out of each slot here.
    taken: Vec<Cell<u64>>,
    outbox: RefCell<SymmetricVec<'a, f64>>,
}

impl Slots for InHeap<'_> {
    fn put(&self, value: f64, rank: usize, slot: usize) -> Result<()> {
        let mut outbox = self.outbox.borrow_mut();
        outbox.copy_from_host(&[value])?;
        let (dest, signal) = (self.values.slice(slot..=slot)?, self.signals.at(slot)?);
        self.pe
            .put_signal(dest, &*outbox, signal, 1, SignalOp::Add, rank)
    }

    fn take(&self, slot: usize) -> Result<f64> {
        let next = self.taken[slot].get() + 1;
        let signal = self.signals.at(slot)?;
        self.pe
            .signal_wait_until(signal, Comparison::GreaterOrEqual, next)?;
        self.taken[slot].set(next);
        let mut value = [0.0];
        self.values.slice(slot..=slot)?.copy_to_host(&mut value)?;
        Ok(value[0])
    }
}
