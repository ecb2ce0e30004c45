//! The place where NCCL writes the handle of a communicator that it is still making.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use ranks_nccl_sys::{ncclComm, ncclComm_t};

/// A handle's place in memory, which does not move: a communicator is made by a thread of the
/// library's after the call has returned.
#[derive(Debug)]
pub(crate) struct HandleSlot(Box<AtomicPtr<ncclComm>>);

impl HandleSlot {
    /// An empty one: NCCL does not write to it when it fails.
    pub(crate) fn empty() -> Self {
        Self(Box::new(AtomicPtr::new(ptr::null_mut())))
    }

    pub(crate) fn address(&mut self) -> *mut ncclComm_t {
        self.0.as_ptr()
    }

    /// The handle that is there now.
    pub(crate) fn handle(&self) -> Option<NonNull<ncclComm>> {
        NonNull::new(self.0.load(Ordering::Acquire))
    }
}
