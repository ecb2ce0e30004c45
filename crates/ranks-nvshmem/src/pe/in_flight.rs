//! Operations that a PE has enqueued and nobody waits for: no block of the heap is freed before
//! they are complete.

use std::cell::{Cell, RefCell};

use ranks_comm::{Error, ErrorKind, Result};

use crate::backend::stream::Mark;
use crate::call::time_limit::Limit;
use crate::call::time_limit::until;

/// The number of marks there may be before those that are complete are looked for.
const FEW: usize = 16;

/// The ends of what was enqueued with blocks of the heap, and was not waited for.
///
/// A block is free for reuse when its part is on every PE, so each PE waits for its own ends before
/// it agrees that blocks are freed.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    marks: RefCell<Vec<Mark>>,
    /// At how many marks they are looked through again.
    many: Cell<usize>,
    /// Something is under way whose end cannot be known.
    unknown: Cell<bool>,
}

impl InFlight {
    /// Remembers an end.
    pub(crate) fn add(&self, mark: Mark) {
        let mut marks = self.marks.borrow_mut();
        marks.push(mark);
        if marks.len() > self.many.get().max(FEW) {
            marks.retain(|mark| !matches!(mark.is_over(""), Ok(true)));
            self.many.set(2 * marks.len());
        }
    }

    /// Something was enqueued of which no end can be had: no block is ever freed.
    pub(crate) fn lose(&self) {
        self.unknown.set(true);
    }

    /// Waits until all is over that was enqueued.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`]; [`ErrorKind::Device`] if something is under way whose end cannot be
    /// known, or as the driver reports. Nothing may be freed then.
    pub(crate) fn settle(&self, operation: &'static str, limit: Limit) -> Result<()> {
        if self.unknown.get() {
            let text = format_args!(
                "something was enqueued whose end cannot be known, because the driver recorded no event: no block of the heap can be freed"
            );
            return Err(Error::new(ErrorKind::Device, operation, text));
        }
        let mut left = 0;
        let waited = until(limit, || {
            let mut marks = self.marks.borrow_mut();
            while let Some(mark) = marks.last() {
                if !mark.is_over(operation)? {
                    left = marks.len();
                    return Ok(false);
                }
                marks.pop();
            }
            Ok(true)
        })?;
        waited.map_err(|limit| {
            let text = format_args!(
                "timed out after {limit:?}: {left} of the operations that were enqueued before are in flight, and no block can be freed while \
                 they work on the heap; a signal or a PE that does not come is waited for"
            );
            Error::new(ErrorKind::TimedOut, operation, text)
        })
    }
}
