//! State that few scopes have: operations that have no room in the first batch, and failures.

use std::cell::{Cell, RefCell};

use slab::Slab;

use super::batches::Batches;
use crate::result::Error;
use crate::transport::pending_op::PendingOp;

/// The pending operations that are not in the first batch, and what has gone wrong.
#[derive(Default)]
pub(super) struct Rest {
    /// Small operations over MPI.
    pub(super) batches: Batches,
    /// All others.
    pub(super) others: RefCell<Slab<PendingOp>>,
    /// `true` if a start has unwound: it may have started an operation that is not kept.
    pub(super) unwound: Cell<bool>,
    /// `true` if an operation cannot end in time: it has timed out, or ranks call different ones.
    pub(super) late: Cell<bool>,
    /// The first failure that no call has returned.
    pub(super) failed: Cell<Option<Error>>,
}

impl Rest {
    pub(super) fn is_empty(&self) -> bool {
        self.batches.are_empty() && self.others.borrow().is_empty() && !self.unwound.get()
    }
}
