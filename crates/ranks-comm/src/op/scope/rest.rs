//! The pending operations of a scope that have no room in its first batch.

use std::cell::{Cell, RefCell};

use slab::Slab;

use super::batches::Batches;
use crate::transport::pending_op::PendingOp;

/// The pending operations that are not in the first batch.
#[derive(Default)]
pub(super) struct Rest {
    /// Small operations over MPI.
    pub(super) batches: Batches,
    /// All others.
    pub(super) others: RefCell<Slab<PendingOp>>,
    /// `true` if a start has unwound: it may have started an operation that is not kept.
    pub(super) unwound: Cell<bool>,
}

impl Rest {
    pub(super) fn is_empty(&self) -> bool {
        self.batches.are_empty() && self.others.borrow().is_empty() && !self.unwound.get()
    }
}
